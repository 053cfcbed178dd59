"""Pod status generation. All functions are pure."""
