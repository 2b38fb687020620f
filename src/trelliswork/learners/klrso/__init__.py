"""Generative models whose parameters are predicted from the input."""
