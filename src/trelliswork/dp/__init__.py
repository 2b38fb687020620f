"""Numba recursions on plain arrays: no classes, no strings, no Python objects."""
