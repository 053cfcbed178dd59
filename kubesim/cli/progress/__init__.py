"""Progress of long commands on stderr: an updated view on a terminal, plain lines elsewhere."""
