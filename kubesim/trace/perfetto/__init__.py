"""The trace in Perfetto's format: slices in tracks, and arrows from causes to effects."""
