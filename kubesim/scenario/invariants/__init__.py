"""Built-in invariants: small checkers, one file each, that watch every run and report violations."""
