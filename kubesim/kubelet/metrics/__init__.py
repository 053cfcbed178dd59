"""The kubelet's metrics: histograms, the text format, and durations that are measured in the trace."""
