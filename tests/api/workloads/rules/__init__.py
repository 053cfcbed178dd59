"""Tests of the rules of workload kinds."""
