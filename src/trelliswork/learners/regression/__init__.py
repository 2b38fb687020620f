"""Kernel regression from inputs to features of outputs, and pre-images."""
