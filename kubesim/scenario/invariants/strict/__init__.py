"""Strict invariants: rules that real kubelets break in known situations. Explore checks them, and scenarios can add
them."""
