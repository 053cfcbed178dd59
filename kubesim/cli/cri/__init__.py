"""The subcommands of `kubesim cri`."""
