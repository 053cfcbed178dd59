"""The ResourceClaim controller: creates claims from templates, and reserves and releases them for pods."""
