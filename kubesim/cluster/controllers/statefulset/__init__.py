"""The StatefulSet controller: ordered pods with stable identities and claims."""
