"""The CPU manager: gives containers of Guaranteed pods CPUs of their own."""
