"""What the command puts off so that its first answer comes sooner."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

__all__ = ["put_off"]


class _Later(ModuleType):
    """Stands in for a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def put_off(name: str) -> None:
    """Import a module only when something of it is used.

    scikit-learn imports ``scipy.stats``, a third of the time that the command takes to start, for functions
    that no command needs as a rule.

    Parameters
    ----------
    name : str
        Full name of the module.
    """
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None:
        return
    module = _Later(name)
    module.__spec__, module.__file__ = spec, spec.origin
    module.__path__ = list(spec.submodule_search_locations or [])
    sys.modules[name] = module
