"""What the command puts off so that its first answer comes sooner."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = ["put_off", "start_soon"]


class _LaterName:
    """Stands in for a class of a module that was put off."""

    def __init__(self, module: str, name: str):
        self._place = (module, name)

    def _real(self) -> Any:
        module, name = self._place
        return getattr(_FINDER.load(module), name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)

    def __call__(self, *args: Any, **more: Any) -> Any:
        return self._real()(*args, **more)


class _Later(ModuleType):
    """Stands in for a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _FINDER.late.get(self.__name__, ()):
            return _LaterName(self.__name__, name)
        return getattr(_FINDER.load(self.__name__), name)


class _Finder(MetaPathFinder, Loader):
    """Finds stand-ins for the modules that were put off."""

    def __init__(self) -> None:
        self.late: dict[str, tuple[str, ...]] = {}

    def load(self, name: str) -> ModuleType:
        """Import the module itself in place of what stands in for it."""
        self.late.pop(name, None)
        if isinstance(sys.modules.get(name), _Later):
            del sys.modules[name]
        return importlib.import_module(name)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a stand-in is made; None for all other modules."""
        real = PathFinder.find_spec(fullname, path) if fullname in self.late else None
        if real is None:
            return None
        spec = ModuleSpec(fullname, self, origin=real.origin)
        spec.submodule_search_locations = real.submodule_search_locations
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make a stand-in."""
        return _Later(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing yet."""


_FINDER = _Finder()


def put_off(name: str, *classes: str) -> None:
    """Import a module only when something of it is used.

    Parameters
    ----------
    name : str
        Full name of the module.
    *classes : str
        Classes that others import from it by name; they are put off too.
    """
    if name not in sys.modules:
        _FINDER.late[name] = classes
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def start_soon() -> None:
    """Put off what NumPy, SciPy and scikit-learn import for functions that no command needs as a rule.

    It is almost half of the time that the command takes to start.
    """
    put_off("numpy.f2py")
    put_off("scipy.interpolate", "BSpline")
    put_off("scipy.optimize")
    put_off("scipy.stats")
