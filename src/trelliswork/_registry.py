"""Tables of what the package has: one line per entry, the import that brings it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["registered"]


def registered(
    namespace: Mapping[str, Any], base: type, name: Callable[[Any], str | None] = lambda cls: cls.__name__
) -> dict[str, Any]:
    """Classes of a module that derive from ``base``, in the order of their names.

    Parameters
    ----------
    namespace : mapping
        ``globals()`` of the module.
    base : type
        What they have in common; not among them itself.
    name : callable
        Name of a class in the table; None leaves it out.

    Examples
    --------
    >>> from trelliswork._registry import registered
    >>> class Animal: ...
    >>> class Cat(Animal): ...
    >>> list(registered({"Animal": Animal, "Cat": Cat, "n": 3}, Animal))
    ['Cat']
    """
    classes = [v for v in namespace.values() if isinstance(v, type) and issubclass(v, base) and v is not base]
    named = {name(cls): cls for cls in classes}
    return {key: named[key] for key in sorted(filter(None, named))}
