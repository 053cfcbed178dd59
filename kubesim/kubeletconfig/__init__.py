"""KubeletConfiguration: fields, defaults, flags and validation."""
