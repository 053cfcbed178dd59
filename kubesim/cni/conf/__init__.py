"""Network configurations: parsing, the configuration directory, and which of its files a runtime loads."""
