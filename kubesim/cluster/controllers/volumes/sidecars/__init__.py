"""What a CSI driver runs beside the cluster: it makes, deletes, grows and attaches the volumes."""
