"""The orders in which dockershim and dockertools make sandboxes, and what they write down of them."""
