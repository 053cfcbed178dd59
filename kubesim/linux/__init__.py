"""The private node: a small process with its own namespaces, in which real CNI plugins run.

kubesim itself never changes namespace. Through `holder_client.py` it sends requests to the node's holder process
(`holder.py`) over a socket: create network namespaces, run plugins, open sockets in a namespace. When kubesim ends for
any reason, the holder ends, and with it everything in the node.
"""
