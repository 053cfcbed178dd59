"""The walk through the sources: what each of five readings of the code describes, in its order, with a command that
shows it. `docs/walk.md` is made from these tables, and a test runs the commands and looks for what they should show.
"""
