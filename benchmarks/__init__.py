"""Benchmarks: ours and the peers in one run, ratio last. ``python -m benchmarks NAME --data DIR``."""
