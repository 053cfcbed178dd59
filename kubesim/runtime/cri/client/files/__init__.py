"""Files and volumes on this machine that real containers mount."""
