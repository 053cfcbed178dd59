"""Control of a running cluster's clock by another program: one line of JSON in each direction over a local socket."""
