"""The walk through the sources: tables of five readings of the code with commands that demonstrate them. `docs/walk.md`
is generated from these tables, and a test runs the commands and checks their output.
"""
