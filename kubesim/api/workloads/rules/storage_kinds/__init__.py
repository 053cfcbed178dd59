"""Rules of PersistentVolumeClaims, PersistentVolumes, StorageClasses and CSI kinds."""
