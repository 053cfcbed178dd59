"""ResourceClaims: made from templates for pods, reserved for them and released when they are done."""
