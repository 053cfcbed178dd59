"""SyncPod and KillPod: the CRI calls that carry out what `decide` computed."""
