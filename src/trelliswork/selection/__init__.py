"""Choosing settings and learners by held-out data: ``Tuned``, ``compare``, scorers for every structure."""

from __future__ import annotations

from trelliswork.selection.race import behind as behind
from trelliswork.selection.race import race as race
from trelliswork.selection.scoring import MEASURES as MEASURES
from trelliswork.selection.scoring import scorers as scorers
from trelliswork.selection.tuned import Tuned as Tuned
from trelliswork.selection.tuned import tuned as tuned
