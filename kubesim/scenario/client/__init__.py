"""What a scenario does at the API server, as somebody with kubectl would."""
