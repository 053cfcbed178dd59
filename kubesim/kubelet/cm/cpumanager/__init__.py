"""The CPU manager: assigns exclusive CPUs to containers of Guaranteed pods."""
