"""Attacks that stay: damaged model files, damaged inputs, calls of any kind, extreme weights.

``python -m tests.fuzz models --cases 1000 --seed 1`` tries one kind of attack in processes of their own,
which may crash, hang or run out of memory without harm, and prints every finding with what repeats it.
"""
