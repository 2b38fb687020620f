"""Outputs that are strings, written piece by piece along the input."""
