"""The trace as OpenTelemetry spans, under the kubelet's names."""
