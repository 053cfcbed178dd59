"""Static pod manifests: decoding, and real or simulated files and URLs."""
