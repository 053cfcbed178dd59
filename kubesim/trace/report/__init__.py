"""The report of a run as one HTML file: its content as data (here), and its presentation (page/)."""
