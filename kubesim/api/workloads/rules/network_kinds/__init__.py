"""Kinds for network traffic: Services, endpoints, Ingresses, NetworkPolicies."""
