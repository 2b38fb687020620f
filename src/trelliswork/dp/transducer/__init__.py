"""Recursions over monotone alignments of two strings of symbols."""
