"""Expectations as pure decisions: questions about objects and what happens, and the forms that say when they hold."""
