"""Alignments of two sequences, and the choice of a relative by alignment."""
