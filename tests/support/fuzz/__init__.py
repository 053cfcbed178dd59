"""The fuzzer: numbered inputs, each a seeded mutation of valid ones, and a check of kubesim's reaction.

    mutations.py, damage.py   how a tree of values, and the bytes of a file, are changed
    families/                 what inputs there are, and the command lines that read them
    verdict.py                what a run may not do: pure
    worker.py                 a process that runs inputs one after the other, bounded in time and memory
    fuzzing.py                starts workers and collects findings

The number of an input is its seed: family and number give the same input on every machine.
"""
