"""JSON patch, JSON merge patch, strategic merge patch and three-way merge. All pure."""
