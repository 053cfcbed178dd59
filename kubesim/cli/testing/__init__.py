"""Commands for those who write scenarios as tests: `test`, `scenario`, `completion`."""
