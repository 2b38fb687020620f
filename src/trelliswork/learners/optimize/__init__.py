"""Minimisers and linear solvers that know nothing of structures."""
