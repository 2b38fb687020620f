"""Parameters by scikit-learn's protocol, without the import of scikit-learn.

That import takes longer (two seconds where pandas is installed) than the first fit of a small model. So the
classes of this package are plain ones until somebody imports scikit-learn: the user, a function of this
package, or one of its objects that is asked for what only scikit-learn can tell. From the end of that import
on, all of them derive from its ``BaseEstimator``: a finder of modules sees to it (:class:`_Watch`), so
that no line of the user's can come between.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from types import MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Self

__all__ = ["Parametrised", "Transformer", "available_if"]

_BASE = "sklearn.base"  # the module that has BaseEstimator

# Methods of BaseEstimator, beside set_fit_request and its like, that others may call.
_OF_SKLEARN = frozenset(
    {
        "_get_metadata_request",
        "_html_repr",
        "_repr_html_",
        "_repr_mimebundle_",
        "_validate_params",
        "get_metadata_routing",
    }
)


class _BeforeSklearn:
    """What stands in the place of ``BaseEstimator`` while scikit-learn is not imported."""

    def __getattr__(self, name: str) -> Any:
        if name in _OF_SKLEARN or (name.startswith("set_") and name.endswith("_request")):
            _meet_sklearn()
            return getattr(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Any:
        _meet_sklearn()
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)

    def __sklearn_clone__(self) -> Any:
        _meet_sklearn()
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_clone__(self)


class Parametrised(_BeforeSklearn):
    """An object with the parameters of its constructor, by scikit-learn's protocol.

    Its class is asked for the names of the parameters once: scikit-learn reads the signature of the
    constructor again for every ``clone``, ``repr`` and ``get_params`` of every part of a learner, which takes
    longer than many a prediction.
    """

    if TYPE_CHECKING:  # each class has its own

        def __init__(self, *args: Any, **more: Any) -> None: ...

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        return sorted(_defaults(cls))  # type: ignore[arg-type]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether parameters of parameters are included, under names such as ``structure__order``.

        Returns
        -------
        dict
            Names and values.
        """
        params: dict[str, Any] = {}
        for name in self._get_param_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
            params[name] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        Parameters
        ----------
        **params
            New values; those of parameters of parameters under names such as ``structure__order``.

        Returns
        -------
        self
            The same object.
        """
        nested: dict[str, dict[str, Any]] = {}
        known = self._get_param_names()
        for name, value in params.items():
            name, separator, rest = name.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {known}."
                )
            if separator:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, inner in nested.items():
            getattr(self, name).set_params(**inner)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(_changed(self))})"


class Transformer(Parametrised):
    """A step of a pipeline before the learner."""

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit, then transform the same inputs.

        Parameters
        ----------
        X : list of inputs
            As in ``fit``.
        y : object, default=None
            As in ``fit``.
        **params
            Passed to ``fit``.

        Returns
        -------
        object
            As from ``transform``.
        """
        return self.fit(X, y, **params).transform(X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags


class _Available:
    """A method that is an attribute of only those objects that pass a check."""

    def __init__(self, function: Callable[..., Any], check: Callable[[Any], bool]):
        self.function, self.check = function, check
        functools.update_wrapper(self, function)  # type: ignore[arg-type]

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            return self.function
        if not self.check(obj):
            raise AttributeError(f"this {type(obj).__name__} has no attribute {self.function.__name__!r}")
        return MethodType(self.function, obj)


def available_if(check: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Any]:
    """Make a method an attribute of only those objects that pass a check, as scikit-learn's function does."""
    return lambda function: _Available(function, check)


def _meet_sklearn() -> None:
    """Let all classes with parameters derive from scikit-learn's ``BaseEstimator`` from now on."""
    from sklearn.base import BaseEstimator

    if _BeforeSklearn in Parametrised.__bases__:
        Parametrised.__bases__ = (BaseEstimator,)
        request = BaseEstimator.__init_subclass__.__func__
        for cls in _with_heirs(Parametrised):  # set_fit_request and its like, which new classes get at once
            request(cls)


class _Watch:
    """A finder of modules that waits for one, calls :func:`_meet_sklearn` once it is there, and goes."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _BASE:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(self, spec.loader)
                return spec
        return None


class _Loader:
    """Loads as another loader does, whose place it takes during the import only."""

    def __init__(self, watch: _Watch, loader: Any):
        self.watch, self.loader = watch, loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        if self.watch in sys.meta_path:
            sys.meta_path.remove(self.watch)
        _meet_sklearn()


def _with_heirs(cls: type) -> Iterator[type]:
    yield cls
    heir: type
    for heir in cls.__subclasses__():
        yield from _with_heirs(heir)


@functools.cache
def _defaults(cls: type) -> dict[str, Any]:
    """Parameters of the constructor, as they are written, with their defaults."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    signature = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
    return {p.name: p.default for p in signature if p.name != "self" and p.kind is not p.VAR_KEYWORD}


def _changed(estimator: Parametrised) -> Iterator[str]:
    """Parameters whose values are not the defaults, for ``repr``."""
    defaults = _defaults(type(estimator))  # type: ignore[arg-type]
    for name in estimator._get_param_names():
        value = getattr(estimator, name, None)
        text = repr(value)
        if text != repr(defaults[name]):
            yield f"{name}={text if len(text) <= 700 else text[:340] + '...' + text[-340:]}"


if _BASE in sys.modules:
    _meet_sklearn()
else:
    sys.meta_path.insert(0, _Watch())
