"""`kubesim cri`: its subcommands."""
