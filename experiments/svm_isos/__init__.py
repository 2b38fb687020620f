"""SVM Learning for Interdependent and Structured Output Spaces: its tables, ours beside the paper's."""

from __future__ import annotations

from experiments.svm_isos import constraints, homologues, ner, ocr, parsing, taxonomies

TABLES = {
    "ner": ner.ner,
    "taxonomies": taxonomies.taxonomies,
    "ocr": ocr.ocr,
    "constraints": constraints.constraints,
    "table4": homologues.table4,
    "table5": parsing.table5,
}
