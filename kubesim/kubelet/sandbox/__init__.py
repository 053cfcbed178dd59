"""Sandbox settings that the kubelet computes: host name, DNS, hosts file, cgroup parent, user namespace."""
