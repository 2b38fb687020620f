"""Structured Prediction Theory Based on Factor Graph Complexity: voted CRFs against CRFs."""

from __future__ import annotations

from experiments.factor_graph import bound, tagging

TABLES = {
    "tagging": tagging.tagging,
    "bound": bound.bound,
}
