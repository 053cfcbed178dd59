"""Defaults and validation of claims for devices, their templates, device classes and resource slices."""
