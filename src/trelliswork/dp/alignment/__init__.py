"""Alignments of two sequences: best ones, sums over all, moments, draws."""
