"""Stories: what the API server of a real node recorded, replayed by a simulated node."""
