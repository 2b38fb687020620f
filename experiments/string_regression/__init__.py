"""A General Regression Framework for Learning String-to-String Mappings: kernel regression and pre-images."""

from __future__ import annotations

from experiments.string_regression.basis import basis
from experiments.string_regression.g2p import g2p
from experiments.string_regression.strings import strings
from experiments.string_regression.table1 import table1

TABLES = {"table1": table1, "strings": strings, "basis": basis, "g2p": g2p}
