"""Operations of a run: their names, faults in them, steps that wait for them, and what containers depend on."""
