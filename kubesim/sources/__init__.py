"""Sources of pods: API server, files and URLs, and the mux that merges them into one stream of updates."""
