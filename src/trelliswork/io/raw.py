"""Raw text: sentences and tokens, by a simple rule."""

from __future__ import annotations

import re

from trelliswork._front_door import readable

__all__ = ["tokenize"]

# Letters, digits and marks, joined by one of - ' . , @ / : _ between two of them (well-known, 3.14, don't).
_TOKEN = re.compile(r"\w+(?:[-'\u2019.,@/:]\w+)*|[^\w\s]", re.UNICODE)


@readable
def tokenize(line: str) -> list[str]:
    """Tokens of a line of text.

    A token is a run of letters and digits, which one of ``- ' . , @ / :`` may join inside
    (``well-known``, ``3.14``, ``don't``), or any other single character that is no white space. What a
    language needs beyond that (clitics, abbreviations, words without spaces) is for a tokeniser of its own.

    Parameters
    ----------
    line : str
        Text, usually a sentence.

    Returns
    -------
    list of str
        Tokens from left to right.

    Examples
    --------
    >>> from trelliswork.io import tokenize
    >>> tokenize("Ana's dog (2.5 years) barks!")
    ["Ana's", 'dog', '(', '2.5', 'years', ')', 'barks', '!']
    """
    return _TOKEN.findall(line)
