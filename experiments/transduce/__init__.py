"""Strings to strings with hidden alignments: pronunciation and inflection."""

from __future__ import annotations

from experiments.transduce import cmudict, g2p, inflection

TABLES = {"g2p": g2p.g2p, "cmudict": cmudict.cmudict, "inflection": inflection.inflection}
