"""Defaults and validation of resource claims, their templates, device classes and resource slices."""
