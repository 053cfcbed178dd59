"""The resource quota controller: the usage of each ResourceQuota."""
