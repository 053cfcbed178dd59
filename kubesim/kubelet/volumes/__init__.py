"""Volumes of pods: what should be mounted, what is, and the loops that bring them together.

    populator ──> desired state ┐
                                ├── reconciler ──> operations ──> directories on the node
                  actual state ─┘                      │
        SyncPod waits until all that its pod uses <────┘ exists; SyncTerminatedPod until all of it is gone

The states and what follows from them are pure; `manager.py` has the loops and the waiting.
"""
