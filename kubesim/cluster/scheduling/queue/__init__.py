"""Pods that wait for a node: ready to be tried, backing off, or waiting for a change that may help them."""
