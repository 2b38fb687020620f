"""From what users have (words, columns of a file) to token features.

>>> from trelliswork.features import TokenWindow
>>> TokenWindow(flags=(), suffixes=()).describe(["La", "casa"])[1]
['-1:word.lower=la', 'bias', 'word.lower=casa', 'EOS']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Looked up on first use: importing this package loads neither SciPy nor scikit-learn.
_NAMES = {
    "RowScaler": "trelliswork.features.rows",
    "TokenWindow": "trelliswork.features.window",
    "parse_template": "trelliswork.features.window",
}

__all__ = ["RowScaler", "TokenWindow", "parse_template"]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    if name == "TRANSFORMERS":  # transformers by name, for model files
        return {
            cls: getattr(importlib.import_module(_NAMES[cls]), cls) for cls in ("RowScaler", "TokenWindow")
        }
    raise AttributeError(f"module 'trelliswork.features' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])


if TYPE_CHECKING:
    from trelliswork.features.rows import RowScaler as RowScaler
    from trelliswork.features.window import TokenWindow as TokenWindow
    from trelliswork.features.window import parse_template as parse_template
