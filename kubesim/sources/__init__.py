"""Pod sources (API server, files, URLs), and the mux that merges them into one stream of updates."""
