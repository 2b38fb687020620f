"""The papers' experiments, ours beside theirs. ``python -m experiments PAPER TABLE --data DIR``."""
