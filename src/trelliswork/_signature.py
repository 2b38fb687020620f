"""Parameters as text, to tell whether two of them are the same."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np

__all__ = ["signature"]


def signature(value: Any) -> str:
    """Text that is the same for equal parameters, be they lists or tuples, copies or the originals."""
    if isinstance(value, Number) and not isinstance(value, bool):
        return f"{value:.17g}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{signature(k)}: {signature(v)}' for k, v in value.items()))}}}"
    if isinstance(value, np.ndarray):
        return signature(value.tolist())
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(signature, value))}]"
    if hasattr(value, "get_params"):
        return f"{type(value).__name__}{signature(value.get_params(deep=False))}"
    if type(value).__repr__ is object.__repr__:  # says where an object is, not what
        return f"{type(value).__qualname__}{signature(getattr(value, '__dict__', {}))}"
    return repr(value)
