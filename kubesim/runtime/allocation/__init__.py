"""Pod resources: allocated, actuated, and the cgroups that enforce them."""
