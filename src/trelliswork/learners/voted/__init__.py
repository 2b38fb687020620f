"""Voted conditional random fields and structured boosting."""
