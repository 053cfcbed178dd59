"""In-place resize: the allocation manager, feasibility, retries and Events."""
