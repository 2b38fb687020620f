"""Learning from outputs that are known in part: entities, and classes known only as inner nodes."""

from __future__ import annotations

from experiments.partly import ner, taxonomy

TABLES = {"ner": ner.ner, "taxonomy": taxonomy.taxonomy}
