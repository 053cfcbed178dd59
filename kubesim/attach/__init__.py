"""What a real kubelet is doing, seen from outside: explanations of pods, and a shadow that follows what is observed."""
