"""A General Regression Framework for Learning String-to-String Mappings: kernel regression and pre-images."""

from __future__ import annotations

from experiments.string_regression import basis, g2p, strings, table1

TABLES = {
    "table1": table1.table1,
    "strings": strings.strings,
    "basis": basis.basis,
    "g2p": g2p.g2p,
}
