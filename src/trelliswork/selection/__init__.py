"""Choosing settings and learners by held-out data: ``Tuned``, ``compare``, scorers for every structure."""

from __future__ import annotations

from trelliswork.selection.comparison import Comparison as Comparison
from trelliswork.selection.contest import compare as compare
from trelliswork.selection.estimator import Tuned as Tuned
from trelliswork.selection.estimator import tuned as tuned
from trelliswork.selection.measures import MEASURES as MEASURES
from trelliswork.selection.racing import behind as behind
from trelliswork.selection.racing import race as race
from trelliswork.selection.scoring import scorers as scorers
