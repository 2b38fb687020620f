"""Structured Prediction Theory Based on Factor Graph Complexity: voted CRFs against CRFs."""

from __future__ import annotations

from experiments.factor_graph.bound import bound
from experiments.factor_graph.tagging import tagging

TABLES = {"tagging": tagging, "bound": bound}
