"""The kubelet's metrics: definitions, histograms, durations measured in the trace, and the text format."""
