"""Events: the recorder, and the correlator that counts, aggregates and drops them."""
