"""Parsing with features of the words that a phrase spans: CRFs on the Penn Treebank sample."""

from __future__ import annotations

from experiments.grammar import spans

TABLES = {"spans": spans.spans}
