"""Teaching labs: predict what the kubelet does, then see it.

A lab is a folder with a text, a scenario, questions whose answers are looked up in the trace of the run, and a solution.
This package never runs a scenario itself: the caller passes a `Play` function.
"""
