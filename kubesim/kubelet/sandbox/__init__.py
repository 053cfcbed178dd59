"""What the kubelet decides for a pod's sandbox: host name, DNS, hosts file, cgroup parent, user namespace."""
