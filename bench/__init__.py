"""Benchmarks: Seamark beside the real Java worker, on one broker, in one run. `make bench` runs them all."""
