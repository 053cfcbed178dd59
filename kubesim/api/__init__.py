"""The API types Pod, Node and Event: their fields, defaults, quantities and validation."""
