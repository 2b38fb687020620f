"""SVM Learning for Interdependent and Structured Output Spaces: its tables, ours beside the paper's."""

from __future__ import annotations

from experiments._svm_homologues import table4
from experiments._svm_ner import constraints, ner
from experiments._svm_ocr import ocr
from experiments._svm_parsing import table5
from experiments._svm_taxonomy import taxonomies

TABLES = {
    "ner": ner,
    "taxonomies": taxonomies,
    "ocr": ocr,
    "constraints": constraints,
    "table4": table4,
    "table5": table5,
}
