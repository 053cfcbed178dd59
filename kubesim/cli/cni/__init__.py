"""The subcommands of `kubesim cni`."""
