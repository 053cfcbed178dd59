"""Pod volumes: desired and actual state, and the loops that reconcile them.

    populator ──> desired state ┐
                                ├── reconciler ──> operations ──> directories on the node
                  actual state ─┘                      │
        SyncPod waits until all that its pod uses <────┘ exists; SyncTerminatedPod until all of it is gone

The states and their comparison are pure; `manager.py` runs the loops and waits.
"""
