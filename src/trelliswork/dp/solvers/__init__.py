"""Compiled loops that are no recursions over outputs: dual ascents, trails, perceptron steps."""
