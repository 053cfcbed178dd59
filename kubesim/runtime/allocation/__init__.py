"""Resources of pods: what is allocated, what is applied, and the control groups that hold it."""
