"""The parts of a served container on this machine: its log, mounted files and ports; and its view of the kernel."""
