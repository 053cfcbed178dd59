"""The report of a run as one HTML file: what is in it, as data (here), and how it is shown (page/)."""
