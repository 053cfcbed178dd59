"""Teaching labs: predict what the kubelet does, then see it.

A lab is a folder with a text, a scenario, questions and a solution. Right answers come from the trace of the run.
This package never runs a scenario itself: the caller passes a `Play` function.
"""
