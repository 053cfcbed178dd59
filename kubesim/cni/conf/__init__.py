"""Network configurations: parsing, the configuration directory, and the choice of files."""
