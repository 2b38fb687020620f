"""What is tried: paths and choices that a learner declares, or that the user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trelliswork._errors import InputError
from trelliswork._signature import signature
from trelliswork._tuning import Choice, Path, Tunable
from trelliswork.kernels import KERNELS

__all__ = ["Plan", "Walk", "make_plan"]

_WIDTHS = 5  # of a kernel that was given by its name


class Walk(NamedTuple):
    """The values of one path.

    Attributes
    ----------
    path : Path
        What changes.
    own : dict
        Parameters of the learner.
    n_values : int
        How many values are planned.
    values : tuple or None
        Values that the user gave, strong to weak; such a path is not extended.
    automatic : bool
        Whether the learner's own setting is ``"auto"``, which stays in the middle of the path.
    """

    path: Path
    own: Mapping[str, Any]
    n_values: int
    values: tuple[Any, ...] | None = None
    automatic: bool = False

    def settings(self, i: int) -> dict[str, Any]:
        """Parameters at place ``i``; those beyond the ends extend the path."""
        if self.values is not None:
            return {self.path.name: self.values[i]}
        if not self.automatic:
            return self.path.point(self.own, i, self.n_values)
        if i == self.middle:
            return {}
        return {**self.path.point(self.own, i, self.n_values), **dict(self.path.fixed)}

    @property
    def middle(self) -> int:
        """Place of the learner's own settings."""
        return self.path.middle(self.n_values)

    @property
    def asks_the_learner(self) -> bool:
        """Whether only a fit can tell which number the learner takes."""
        return self.values is None and isinstance(self.own.get(self.path.name), str)

    def around(self, number: Any) -> Walk:
        """The same path around the number that the learner took.

        Parameters
        ----------
        number : object
            The number; anything else leaves the path as it is.
        """
        own = {**self.own, self.path.name: number}
        return self._replace(own=own, automatic=True) if self.path.is_number(own) else self


class Plan(NamedTuple):
    """Paths, and choices that are tried one after the other.

    Attributes
    ----------
    walks : list of Walk
        Strengths of regularisation.
    choices : list of Choice
        Other parameters.
    """

    walks: list[Walk]
    choices: list[Choice]

    @property
    def names(self) -> list[str]:
        """All parameters that may change."""
        of_walks = [name for walk in self.walks for name in (*walk.path.names, *dict(walk.path.fixed))]
        return list(dict.fromkeys([*of_walks, *(choice.name for choice in self.choices)]))

    def start(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Settings to begin with: the learner's own, but for choices that do not have them.

        Parameters
        ----------
        own : mapping of str to object
            Parameters of the learner.
        """
        return {
            c.name: c.values[0]
            for c in self.choices
            if signature(own[c.name]) not in map(signature, c.values)
        }

    @property
    def decoding(self) -> set[str]:
        """Parameters that matter for prediction alone."""
        return {choice.name for choice in self.choices if choice.decoding}


def make_plan(learner: Any, tune: Any, n_values: int, method: str) -> Plan:
    """Read ``tune`` of :class:`~trelliswork.Tuned`.

    Parameters
    ----------
    learner : estimator
        A learner without transformers.
    tune : None, "all", list or mapping
        As in :class:`~trelliswork.Tuned`.
    n_values : int
        Length of paths.
    method : str
        Method that predicts; choices of decoding matter for ``"predict_mea"`` alone.
    """
    own = learner.get_params()
    declared = {t.name: t for t in getattr(learner, "tuning", ())}
    inner = {t.name: t for t in (*_of_part(own, "structure"), *_of_part(own, "kernel"))}
    known = {**declared, **inner}
    items: list[Tunable | Walk]
    if tune is None:
        decoded = method == "predict_mea"
        items = [t for t in declared.values() if not (isinstance(t, Choice) and t.on_request)]
        items += [t for t in inner.values() if decoded and _decodes(t)]
    elif isinstance(tune, str) and tune == "all":
        items = [t for t in known.values() if method == "predict_mea" or not _decodes(t)]
    elif isinstance(tune, Mapping):
        items = [_given(name, values, own, known) for name, values in tune.items()]
    elif isinstance(tune, str) or not isinstance(tune, Sequence):
        raise InputError(
            "tune must be None, 'all', a list of parameters or a mapping of parameters to values, got "
            f"{tune!r:.60}"
        )
    else:
        items = [_named(item, learner, known) for item in tune]
    if not isinstance(tune, Mapping):
        items = [_with_own(t, own) if isinstance(t, Choice) else t for t in items]
    walks = [t if isinstance(t, Walk) else Walk(t, own, n_values) for t in items if not isinstance(t, Choice)]
    return Plan(walks, [t for t in items if isinstance(t, Choice)])


def _of_part(own: Mapping[str, Any], part: str) -> list[Tunable]:
    """What the structure or the kernel of a learner declares, under the names that the learner has for it."""
    given = own.get(part)
    tunables = [t._replace(name=f"{part}__{t.name}") for t in getattr(given, "tuning", ())]
    if part != "kernel" or not isinstance(given, str) or given not in KERNELS:
        return tunables
    # A kernel that was given by its name has no parameters to set: kernels of other widths take its place.
    kernel = KERNELS[given]()
    widths = [t for t in kernel.tuning if isinstance(t, Path)]
    points = [[t.point(kernel.get_params(), i, _WIDTHS) for i in range(_WIDTHS)] for t in widths]
    return [Choice("kernel", tuple(KERNELS[given](**point) for point in along)) for along in points]


def _with_own(choice: Choice, own: Mapping[str, Any]) -> Choice:
    """The choice with the learner's own value among its values."""
    if signature(own[choice.name]) in map(signature, choice.values):
        return choice
    return choice._replace(values=(own[choice.name], *choice.values))


def _decodes(item: Tunable) -> bool:
    return isinstance(item, Choice) and item.decoding


def _named(item: Any, learner: Any, known: Mapping[str, Tunable]) -> Tunable:
    if isinstance(item, (Path, Choice)):
        return item
    if item not in known:
        raise InputError(
            f"tune: {type(learner).__name__} does not say how {item!r} is tuned; it names "
            f"{', '.join(known) or 'nothing'}. Give the values: tune={{{item!r}: [...]}}"
        )
    return known[item]


def _given(name: str, values: Any, own: Mapping[str, Any], known: Mapping[str, Tunable]) -> Choice | Walk:
    if name not in own:
        raise InputError(f"tune: there is no parameter {name!r}; there are {', '.join(sorted(own))}")
    if isinstance(values, str) or not hasattr(values, "__len__") or not len(values):
        raise InputError(f"tune: expected a list of values of {name!r}, got {values!r:.60}")
    item = known.get(name)
    if isinstance(item, Path):
        ordered = tuple(sorted(map(float, values), reverse=item.weaker == "down"))
        return Walk(item, own, len(ordered), ordered)
    return Choice(name, tuple(values), decoding=item is not None and _decodes(item))
