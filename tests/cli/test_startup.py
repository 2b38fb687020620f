"""Imports that the command puts off."""

from __future__ import annotations

import sys

from trelliswork.cli._startup import put_off


def test_a_module_is_imported_when_it_is_used(monkeypatch):
    monkeypatch.delitem(sys.modules, "xml.dom.minidom", raising=False)
    monkeypatch.delitem(sys.modules, "xml.dom", raising=False)
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
