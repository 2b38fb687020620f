"""SVM Learning for Interdependent and Structured Output Spaces: its tables, ours beside the paper's."""

from __future__ import annotations

from experiments.svm_isos.constraints import constraints
from experiments.svm_isos.homologues import table4
from experiments.svm_isos.ner import ner
from experiments.svm_isos.ocr import ocr
from experiments.svm_isos.parsing import table5
from experiments.svm_isos.taxonomies import taxonomies

TABLES = {
    "ner": ner,
    "taxonomies": taxonomies,
    "ocr": ocr,
    "constraints": constraints,
    "table4": table4,
    "table5": table5,
}
