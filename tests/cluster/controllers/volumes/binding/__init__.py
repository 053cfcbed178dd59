"""Tests of claims and volumes."""
