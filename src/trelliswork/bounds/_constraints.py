"""How many constraints the working-set algorithm of structural support vector machines can take up."""

from __future__ import annotations

from trelliswork._errors import InputError
from trelliswork._validate import check_number

__all__ = ["svm_constraints"]


def svm_constraints(
    n_samples: int,
    C: float,
    radius: float,
    epsilon: float,
    *,
    largest_loss: float = 1.0,
    slack: str = "l1",
    rescale: str | None = "margin",
) -> float:
    """Bound on the constraints that a :class:`~trelliswork.StructuredSVM` with ``epsilon`` takes up.

    Every constraint that is broken by more than ``epsilon`` raises the dual objective by a least amount, and
    the dual is bounded. This holds for constraints that are added one at a time; a round of the solver adds
    one for every sample at once.

    Parameters
    ----------
    n_samples : int
        Number of training samples. The bound grows with it.
    C : float
        Weight of the mean slack, ``C_`` of the model. The bound grows with it.
    radius : float
        Largest norm of a difference of the features of two outputs. The bound grows with its square.
    epsilon : float
        Tolerance of the constraints. The bound falls with its square.
    largest_loss : float, default=1.0
        Largest loss of an output; 1 without rescaling. The bound grows with it.
    slack : {"l1", "l2"}, default="l1"
        As in :class:`~trelliswork.StructuredSVM`.
    rescale : {"margin", "slack", None}, default="margin"
        As in :class:`~trelliswork.StructuredSVM`.

    References
    ----------
    .. [1] Tsochantaridis, Hofmann, Joachims, Altun (2004), ICML.

    Examples
    --------
    >>> from trelliswork import bounds
    >>> round(bounds.svm_constraints(10, 1.0, 2.0, 0.1, slack="l2"))
    1400
    """
    for name, value in (("C", C), ("radius", radius), ("epsilon", epsilon), ("largest_loss", largest_loss)):
        check_number(f"svm_constraints: {name}", value, 0, above=True)
    check_number("svm_constraints: n_samples", n_samples, 1, whole=True)
    if slack not in ("l1", "l2") or rescale not in ("margin", "slack", None):
        raise InputError(
            f"svm_constraints needs slack 'l1' or 'l2' and rescale 'margin', 'slack' or None, got {slack!r} "
            f"and {rescale!r}"
        )
    loss = 1.0 if rescale is None else largest_loss
    if slack == "l2":
        power = loss**2 if rescale == "slack" else loss
        return (C * power * radius**2 + n_samples * loss) / epsilon**2
    power = loss**3 if rescale == "slack" else loss
    return max(2.0 * n_samples * loss / epsilon, 8.0 * C * power * radius**2 / epsilon**2)
