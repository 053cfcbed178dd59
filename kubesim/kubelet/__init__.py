"""The node agent. `agent.py` composes it; each folder holds one subject."""
