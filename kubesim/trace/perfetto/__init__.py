"""The trace for the Perfetto UI: slices in tracks, and arrows from causes to effects."""
