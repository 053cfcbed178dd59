"""Manifests of static pods: decoding, and the real or simulated files and URLs that hold them."""
