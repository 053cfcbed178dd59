"""Pictures of a run for documents: SVG of the timeline, Mermaid diagrams of what was said to whom."""
