"""What a served container has on this machine: its log, mounted files, ports; and what it sees of its kernel."""
