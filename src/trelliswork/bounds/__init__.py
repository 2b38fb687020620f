"""Guarantees: how far the risk of a model can be above its error on the training data.

Every function returns a :class:`Bound`: the number, the parts that it is made of, and whether it
says anything at all. Bounds hold with probability ``1 - delta`` over the draw of the samples, for all
weights of the stated size at once. They are loose: their use is to compare (how complexity falls
with the number of samples, which family of features is cheap), not to predict an error rate.
"""

from trelliswork.bounds._base import Bound
from trelliswork.bounds._complexity import Complexity, factor_graph_complexity
from trelliswork.bounds._constraints import svm_constraints
from trelliswork.bounds._margin import margin
from trelliswork.bounds._pac import pac
from trelliswork.bounds._rank import soda

__all__ = ["Bound", "Complexity", "factor_graph_complexity", "margin", "pac", "soda", "svm_constraints"]
