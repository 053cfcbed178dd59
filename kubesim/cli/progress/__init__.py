"""Progress of long commands on stderr: a view on a terminal, plain lines elsewhere."""
