"""Structural support vector machines."""
