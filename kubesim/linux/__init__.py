"""The private node: a small process with namespaces of its own, in which real plugins may do what they want.

kubesim itself never changes namespace. It asks the node's holder (`holder.py`) over a socket, through
`holder_client.py`: for network namespaces, for plugins to run, for sockets that are open in there. When kubesim ends,
however it ends, the holder ends, and with it everything in it.
"""
