"""Arrays that are filled anew by every question, and kept between them."""

from __future__ import annotations

import numpy as np

__all__ = ["Scratch"]

_SLACK = 1.25  # what is asked for next may be somewhat larger


class Scratch:
    """Two arrays for one question at a time.

    Fresh arrays of millions of entries cost more in page faults than what is computed in them. Blocks of
    samples that are asked one after the other share one of these.

    Examples
    --------
    >>> import numpy as np
    >>> from trelliswork.structures.scratch import Scratch
    >>> scratch = Scratch()
    >>> a, b = scratch.pair((3, 2))
    >>> a.shape, np.shares_memory(a, scratch.pair((2, 2))[0])
    ((3, 2), True)
    """

    def __init__(self) -> None:
        self._both = np.empty((2, 0))

    def pair(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Two arrays of a shape, with anything in them; those of earlier calls are overwritten.

        Parameters
        ----------
        shape : tuple of int
            Their shape.
        """
        size = int(np.prod(shape))
        if size > self._both.shape[1]:
            grown = size if not self._both.size else int(size * _SLACK)
            self._both = np.empty((2, grown))
        first, second = (row[:size].reshape(shape) for row in self._both)
        return first, second
