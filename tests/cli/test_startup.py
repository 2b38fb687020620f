"""Imports that the command puts off."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from trelliswork.cli._startup import put_off

for name in [n for n in sys.modules if n.startswith("xml.dom")]:
    del sys.modules[name]
put_off("xml.dom")
import xml.dom as late

assert not hasattr(late, "__nothing__")
assert late.__dict__.get("Node") is None
assert late.Node.ELEMENT_NODE == 1
assert sys.modules["xml.dom"] is not late
import xml.dom.minidom

assert xml.dom.minidom.Document().nodeType == 9
loaded = sys.modules["xml.dom"]
put_off("xml.dom")  # there already
assert sys.modules["xml.dom"] is loaded
"""


def test_a_module_is_imported_when_it_is_used():
    subprocess.run([sys.executable, "-c", CODE], check=True)
