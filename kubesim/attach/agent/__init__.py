"""The node agent, attached: kubesim's own kubelet with the pods of a live API server, which it never writes to.

`Agent` is the name under which programs outside of kubesim use the part that follows a node.
"""

from kubesim.attach.watch.node_follower import NodeFollower as Agent

__all__ = ["Agent"]
