"""CRI's server: a simulated runtime answers the calls of a kubelet, crictl or critest as containerd does."""
