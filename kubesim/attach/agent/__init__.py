"""The attached agent: kubesim's own kubelet with the pods of a live API server, to which it never writes.

Other programs that follow a node with kubesim import `Agent` from here.
"""

from kubesim.attach.watch.node_follower import NodeFollower as Agent

__all__ = ["Agent"]
