"""Pod workers: one task per pod, driven by a pure state machine."""
