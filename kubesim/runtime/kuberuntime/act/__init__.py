"""SyncPod and KillPod: the CRI calls that execute the computed actions."""
