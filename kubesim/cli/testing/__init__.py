"""Commands for authors of scenario tests: `test`, `scenario`, `completion`."""
