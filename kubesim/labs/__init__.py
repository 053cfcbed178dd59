"""Teaching labs: predict what the kubelet does, then see it.

A lab is a folder with a text, a scenario, questions whose answers are looked up in the trace of the run, a solution.
Nothing in this package plays a scenario by itself: whoever uses it hands in `Play`.
"""
