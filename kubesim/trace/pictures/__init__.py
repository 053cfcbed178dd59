"""Pictures of a run for documents: SVG of the timeline, Mermaid sequence diagrams of the calls."""
