"""The StatefulSet controller: pods with an identity and claims of their own, in order."""
