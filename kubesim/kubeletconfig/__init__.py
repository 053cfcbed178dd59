"""KubeletConfiguration: its fields, defaults, flags and rules."""
