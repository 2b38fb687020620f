"""Feature names that share their stems, and alphabets that look stems up once.

The features of a neighbour have the same names as those of the token itself, with ``-1:`` or
``+1:`` in front. Kept as a prefix and shared stems, a window of any width needs one look-up per
stem, and no string is put together before somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from trelliswork._errors import InputError

__all__ = ["Alphabet", "Names", "attribute_of"]

_MANY = 8  # look-ups for each name of an alphabet, from which on those of stems are prepared


def attribute_of(name: tuple[Any, ...]) -> str:
    """The attribute in a feature name ``(kind, attribute, ...)``, which must be a string."""
    if not isinstance(name[1], str):
        text = (name[0], str(name[1]), *name[2:])
        raise InputError(
            f"weights: the attribute of {name!r} is no string; attributes are strings, those of the columns "
            f"of arrays '0', '1', ...: write {text!r}"
        )
    return name[1]


class Names(Sequence[str]):
    """Names that are a prefix and some of the stems of a shared list.

    Parameters
    ----------
    stems : list of str
        Shared between blocks; never changed.
    chosen : ndarray of int64
        Stems that have a name here.
    prefix : str
        Put before each.
    """

    def __init__(self, stems: list[str], chosen: np.ndarray, prefix: str = ""):
        self.stems = stems
        self.chosen = chosen
        self.prefix = prefix

    def __len__(self) -> int:
        return self.chosen.size

    def __iter__(self) -> Iterator[str]:
        prefix, stems = self.prefix, self.stems
        return (prefix + stems[j] for j in self.chosen.tolist())

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return Names(self.stems, self.chosen[i], self.prefix)
        return self.prefix + self.stems[self.chosen[i]]


class Alphabet(dict[str, int]):
    """Numbers of names, with look-ups of whole lists.

    Examples
    --------
    >>> alphabet = Alphabet({"x": 0, "y": 1, "+1:x": 2})
    >>> stems = ["x", "z", "y"]
    >>> here, next = Names(stems, np.arange(3)), Names(stems, np.arange(2), "+1:")
    >>> [numbers.tolist() for numbers in alphabet.numbers([here, next])]
    [[0, -1, 1], [2, -1]]
    """

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._split: dict[tuple[str, ...], tuple[dict[str, int], np.ndarray]] = {}
        self._looked_up = 0  # names so far

    def __reduce__(self) -> Any:
        return Alphabet, (dict(self),)

    def numbers(self, lists: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """Numbers of the names of each list, -1 for unknown ones."""
        groups: dict[int, list[int]] = {}
        for i, names in enumerate(lists):
            groups.setdefault(id(names.stems if isinstance(names, Names) else names), []).append(i)
        numbers_of: dict[int, np.ndarray] = {}
        for members in groups.values():
            together = [names for i in members if isinstance(names := lists[i], Names)]
            if len(together) > 1 and self._worth_splitting(together):
                numbers_of.update(zip(members, self._by_stem(together), strict=True))
            else:
                for i in members:
                    numbers = map(self.get, lists[i], repeat(-1))
                    numbers_of[i] = np.fromiter(numbers, dtype=np.int64, count=len(lists[i]))
        return [numbers_of[i] for i in range(len(lists))]

    def _worth_splitting(self, lists: list[Names]) -> bool:
        """Whether so many names are looked up that it pays to cut all names of the alphabet into stems."""
        if _prefixes(lists) in self._split:
            return True
        self._looked_up += sum(map(len, lists))
        return self._looked_up > _MANY * len(self)

    def _by_stem(self, lists: list[Names]) -> list[np.ndarray]:
        prefixes = _prefixes(lists)
        if prefixes not in self._split:
            self._split[prefixes] = self._split_at(prefixes)
        stems, table = self._split[prefixes]
        asked = lists[0].stems
        place = np.fromiter(map(stems.get, asked, repeat(-1)), dtype=np.int64, count=len(asked))
        return [table[prefixes.index(names.prefix), place[names.chosen]] for names in lists]

    def _split_at(self, prefixes: tuple[str, ...]) -> tuple[dict[str, int], np.ndarray]:
        """Numbers of the stems, and a table (prefix, stem) of numbers whose last column is -1.

        A name counts under every prefix that it starts with, the empty one included.
        """
        stems: dict[str, int] = {}
        entries = []  # of every row of the table: columns and numbers
        for prefix in prefixes:
            cut = len(prefix)
            cut_names = [(name[cut:], number) for name, number in self.items() if name.startswith(prefix)]
            places = [stems.setdefault(stem, len(stems)) for stem, _ in cut_names]
            entries.append((places, [number for _, number in cut_names]))
        table = np.full((len(prefixes), len(stems) + 1), -1, dtype=np.int64)
        for row, (places, numbers) in zip(table, entries, strict=True):
            row[places] = numbers
        return stems, table


def _prefixes(lists: Sequence[Names]) -> tuple[str, ...]:
    return tuple(sorted({names.prefix for names in lists}))
