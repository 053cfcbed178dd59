"""The private node: the process under the nodes, a node's holder, kubesim's side of it, and what confines plugins."""
