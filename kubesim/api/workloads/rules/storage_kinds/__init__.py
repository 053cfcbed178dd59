"""Rules of claims, volumes, classes and CSI objects."""
