"""`kubesim cni`: its subcommands."""
