"""Secondary structures of RNA: which bases pair."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from trelliswork._counts.base_pairs import base_pair_scores
from trelliswork._dotbracket import dot_bracket, pair_table
from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, offsets_of
from trelliswork._stored import fitting, lengths, numbers, whole
from trelliswork._tuning import Choice
from trelliswork._validate import as_number, check_number
from trelliswork.dp.rna.nearest.layout import LONGEST, MOST_STACKED
from trelliswork.dp.rna.rules import BASE, BASES, F_LS, F_PAIR, L_PAIR, N_RULES, PAIRS, S_L, S_LS
from trelliswork.structures.base import Batch, Space, Structure
from trelliswork.structures.contexts import check_context
from trelliswork.structures.known import check_known
from trelliswork.structures.limits import RNALimits
from trelliswork.structures.rna import pairs
from trelliswork.structures.rna.batch import RNABatch
from trelliswork.structures.rna.evidence import Evidence, check_constraints, evidence_scores, with_evidence
from trelliswork.structures.rna.features import GROUPS, feature_map
from trelliswork.structures.rna.nearest import NearestBatch
from trelliswork.structures.rna.shipped import shipped_loops
from trelliswork.structures.survey import Nothing, Survey

__all__ = ["NEAREST", "RNA", "NearestSpace", "RNASpace"]

NEAREST = "nearest-neighbour"
_STORED = {
    "bases": whole("bases", high=5),
    "lengths": lengths("sequences", "bases", least=1),
    "gold": whole("bases", low=-1, within="lengths"),  # the partner of each base, -1 for none
    "evidence": numbers("pairs", forbids=True, optional=True),
}


class RNA(Structure):
    """Secondary structures of RNA, nested and with canonical pairs (AU, GC, GU).

    Structures are scored by their loops (``"nearest-neighbour"``), as in CONTRAfold [1]_: about 740 features
    for stacked pairs, ends of helices with the bases next to them, lengths and asymmetry of loops,
    multiloops. Learners that search for weights start from those of the model of the package
    (:func:`trelliswork.pretrained`) and are pulled towards them.

    With ``grammar="g6"`` there are 19 rules, which know helices: the first pair of a helix and the pairs
    stacked on it have weights of their own.

    ::

        S -> L S | L        L -> base | x F x'        F -> x F x' | L S

    With ``"nested"`` the rules also know how deep they are: ``S0``, ``L0`` outside of all pairs,
    ``F1``, ``S1``, ``L1`` inside of one helix, and so on up to ``depth``, which also stands for
    everything deeper.

    Grammars of rules are also generative models, which the loops are not.

    Parameters
    ----------
    grammar : {"auto", "nearest-neighbour", "g6", "nested"}, default="auto"
        What structures are made of. "auto" is the loops of the model of the package, whose weights learners
        begin with (as a prior, or as the law that counts, moments and predicted shares correct); with
        "nearest-neighbour" they begin from nothing.
    depth : int, default=2
        Helices that ``"nested"`` tells apart by how many others enclose them. The larger, the more rules
        there are and the more data they take.
    invalid : {"strict", "repair"}, default="strict"
        What to do with given structures that the grammar cannot hold (other pairs than AU, GC,
        GU; pseudoknots; hairpin loops of fewer than 3 bases, of rules 2): refuse them, or delete the
        offending pairs: first pairs of other bases, then pairs that cross earlier ones (in the
        order of the brackets: ``()``, ``<>``, ``[]``, ``{}``, letters), then pairs around too small a
        loop, innermost first. Unbalanced brackets are refused in any case.
    gamma : float, default=1.0
        What a paired base counts in ``predict_mea``, where an unpaired one counts 1: more than 1
        predicts more pairs.
    min_hairpin : {3, 2}, default=3
        Nearest-neighbour model: least number of bases in a hairpin loop. G6 has 2. The larger, the fewer
        hairpins are possible.
    max_loop : int, default=30
        Nearest-neighbour model: most unpaired bases in a bulge or internal loop, at most 30. The larger, the
        slower.
    window : int or None, default=None
        Nearest-neighbour model: pairs are less than so many bases apart; time and memory then grow with
        the length times ``window``, for sequences of any length. The larger, the slower, and the more
        distant the pairs that can be found.
    groups : tuple of str, default=()
        Nearest-neighbour model: optional groups of features; ``"hairpin loops"`` has one for every
        hairpin loop of three or four bases, ``"hexaloops"`` of six, ``"triples"`` for every three pairs
        stacked on each other, ``"helix lengths"`` for helices of two, three and four pairs.
    context : int, default=1
        Bases that kernels see on either side of a paired or unpaired base (``StructuredSVM(kernel=...)``,
        ``Perceptron(kernel=...)``; nothing else uses it). More tell more contexts apart, and take longer.

    See Also
    --------
    pretrained : The model of the package.
    Evidence : What is known of a sequence beforehand.
    metrics.base_pair_scores : How good structures are.

    Notes
    -----
    Inputs are strings of A, C, G, U; T counts as U, and small letters as capitals. IUPAC codes for
    several bases (N, R, Y, ...; also X) stand for an unknown base, which stays unpaired and has no
    base feature. Empty sequences are refused, as the grammar has no empty structure.

    Outputs are dot-bracket strings; WUSS notation is understood. ``predict_marginals`` gives per
    sequence a symmetric matrix of the probabilities of pairs, with the probability of
    being unpaired on the diagonal, so that rows sum to 1; ``predict_mea`` finds the structure with the most
    bases expected to be right. ``score`` is the F1 measure of pairs. Losses for learners that take one:
    ``"base-pairs"`` counts the pairs that are in one structure and not in the other (so does ``"hamming"``,
    whose ``label_weight={"(": 2}`` makes missed pairs count 2, and ``"."`` pairs too many),
    ``"f1"`` is one minus the F1 measure (exactly up to 64 bases; beyond with ``approx=True``).

    Every structure has exactly one derivation, so probabilities are those of structures. Time grows with
    the cube of the length, memory with its square: 4,000 bases take seconds.

    Structures to learn from, and those to predict (``predict(X, known=...)``), may be known in part: ``?``
    stands for a base of which nothing is known, ``|`` for one that is paired, ``<`` (``>``) for one that is
    paired with a later (earlier) one, ``x`` for an unpaired one, as a dot does; None knows nothing. Text
    without ``?``, ``|`` and ``x`` is a whole structure. Inputs may carry what is known about them, see
    :class:`Evidence`, in whose constraints a dot is a base of which nothing is known.

    References
    ----------
    .. [1] Do, Woods, Batzoglou (2006), Bioinformatics.

    Examples
    --------
    >>> from trelliswork import CRF, RNA
    >>> X = ["GGGAAACCC", "GCGCAAAGCGC", "GGAUUCGCC", "AAGGGUUUUCCC"]
    >>> y = ["(((...)))", "((((...))))", "((.....))", "..(((....)))"]
    >>> model = CRF(RNA()).fit(X, y)
    >>> model.predict(["ggcgaaagcc"])
    ['(((....)))']
    >>> model.space_.feature_names[3]
    ('stacking', "5'-AA-3' 3'-UU-5'")
    >>> CRF(RNA("g6"), l2=0.1).fit(X, y).space_.feature_names[:2]
    [('rule', 'S -> L S'), ('rule', 'S -> L')]
    """

    space_class: ClassVar[type[Space]]  # set below, where the class is known
    batch_class: ClassVar[type[Batch]] = RNABatch
    output_kind: ClassVar[str] = "RNA structure"
    tuning = (
        Choice("grammar", ("auto", "g6", "nested")),
        Choice("gamma", (0.5, 1.0, 2.0, 4.0, 8.0), decoding=True),
    )
    limits: RNALimits = RNALimits()

    def __init__(
        self,
        grammar: str = "auto",
        *,
        depth: int = 2,
        invalid: str = "strict",
        gamma: float = 1.0,
        min_hairpin: int = 3,
        max_loop: int = 30,
        window: int | None = None,
        groups: Sequence[str] = (),
        context: int = 1,
    ):
        self.grammar = grammar
        self.depth = depth
        self.invalid = invalid
        self.gamma = gamma
        self.min_hairpin = min_hairpin
        self.max_loop = max_loop
        self.window = window
        self.groups = groups
        self.context = context

    def check(self) -> None:
        """Refuse hyper-parameters that make no sense."""
        if self.grammar not in ("auto", "g6", "nested", NEAREST):
            raise InputError(f"grammar must be 'auto', 'g6', 'nested' or {NEAREST!r}, got {self.grammar!r}")
        check_context(self.context)
        if self.invalid not in ("strict", "repair"):
            raise InputError(f"invalid must be 'strict' or 'repair', got {self.invalid!r}")
        for name, low, high in (("depth", 1, 20), ("min_hairpin", 2, 3), ("max_loop", 0, LONGEST)):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or not low <= value <= high:
                raise InputError(f"{name} must be a whole number from {low} to {high}, got {value!r}")
        if self.window is not None:
            check_number("window", self.window, 4, whole=True)
            if not self.by_loops:
                raise InputError(f"window goes with grammar={NEAREST!r}")
        if isinstance(self.groups, str) or not set(self.groups) <= set(GROUPS):
            raise InputError(f"groups may hold {', '.join(map(repr, GROUPS))}; got {self.groups!r}")
        if as_number("gamma", self.gamma) <= 0:
            raise InputError(f"gamma must be a finite number > 0, got {self.gamma!r}")

    def prepare(self, X: Any) -> Ragged:
        """Read the sequences once (idempotent)."""
        if isinstance(X, Ragged) and X.values.dtype == np.int64:
            return X
        if isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__len__"):
            raise InputError(f"X must be a list of sequences, got {type(X).__name__}")
        rows = [pairs.encode(i, x) for i, x in enumerate(X)]
        values = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        bases = Ragged(values, offsets_of([row.size for row in rows]))
        known = {i: x for i, x in enumerate(X) if isinstance(x, Evidence)}
        return with_evidence(bases, known) if known else bases

    def symbols(self, X: Any) -> list[str]:
        """The sequences in capitals, with U for T."""
        letters = np.array([*BASES, "N"])
        return ["".join(letters[row].tolist()) for row in self.prepare(X)]

    def bind(self, X: Any = None, y: Any = None) -> RNASpace:
        """Number the rules; they do not depend on the data."""
        self.check()
        return NearestSpace(self) if self.by_loops else RNASpace(self)

    def survey(self, X: Any = None, y: Any = None) -> Survey:
        """Nothing: rules do not depend on the data."""
        self.check()
        return Nothing(self)

    @property
    def by_loops(self) -> bool:
        """Whether structures are scored by their loops."""
        return self.grammar in ("auto", NEAREST)

    def complete(self) -> RNA:
        """Rules that are a generative model."""
        return self.with_params(grammar="nested") if self.grammar == "auto" else self

    def known_weights(self) -> dict[Any, float] | None:
        """Weights of the model of the package for ``grammar="auto"``, by the names of their features."""
        if self.grammar != "auto":
            return None
        loops, weights = shipped_loops()
        names = feature_map(tuple(sorted(loops)))[0]
        return dict(zip(names, weights.tolist(), strict=True))

    @property
    def moment_reference(self) -> str:  # type: ignore[override]
        """The law of the grammar; loops overlap in their counts, which give no law."""
        return "uniform" if self.grammar == NEAREST else "generative"

    @property
    def svm_prior(self) -> str | None:  # type: ignore[override]
        """Frequencies of the rules: a few wrong pairs cost more than none, and weights of 0 have none."""
        return None if self.by_loops else "generative"

    @property
    def widest(self) -> int:
        """Pairs are less than so many bases apart."""
        return sys.maxsize if self.window is None else int(self.window)

    @property
    def bounds(self) -> pairs.Bounds:
        """What loops may be."""
        if not self.by_loops:
            return pairs.G6
        return pairs.Bounds(int(self.min_hairpin), int(self.max_loop), self.widest)

    def bind_names(self, names: Sequence[Any]) -> RNASpace:
        """Space for given weights; names of rules tell "auto" which grammar they are of."""
        rules = {name[1] for name in names if isinstance(name, tuple) and name and name[0] == "rule"}
        if self.grammar == "auto" and rules:
            nested = any(str(rule)[1:2].isdigit() for rule in rules)
            return self.with_params(grammar="nested" if nested else "g6").bind()
        return self.bind()

    @classmethod
    def examples(cls) -> Iterator[tuple[Structure, Any, Any]]:
        """Three short sequences."""
        X, y = ["GGAAACC", "GAAAC", "ACGU"], ["((...))", "(...)", "...."]
        yield cls("g6"), X, y
        yield cls(), X, y

    def representable(self, X: Any, y: Any) -> list[bool]:
        """Whether the grammar can hold each given structure as it is.

        Parameters
        ----------
        X : list of str
            Sequences.
        y : list of str
            Structures.

        Examples
        --------
        >>> from trelliswork import RNA
        >>> RNA().representable(["GAAAC", "GAC", "GAAAG"], ["(...)", "(.)", "(...)"])
        [True, False, False]
        """
        rows = enumerate(zip(self.prepare(X), y, strict=True))
        bounds = self.bounds
        return [
            (pairs.open_marks if pairs.is_open(text) else pairs.fitted)(i, bases, text, "mark", bounds)
            is not None
            for i, (bases, text) in rows
        ]

    def accuracy(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """F1 measure of base pairs, over all samples together."""
        return base_pair_scores(y_true, y_pred, sample_weight=sample_weight).f1


class RNASpace(Space):
    """Rules of an :class:`RNA`.

    Parameters
    ----------
    structure : RNA
        Hyper-parameters.
    """

    structure: RNA
    batch_class: ClassVar[type[RNABatch]] = RNABatch

    def __init__(self, structure: RNA):
        self.structure = structure
        self.n_depths = 1 if structure.grammar == "g6" else int(structure.depth) + 1
        # Outside of all pairs the nested grammar has no F.
        used = np.ones((self.n_depths, N_RULES), dtype=bool)
        if self.n_depths > 1:
            used[0, F_LS] = False
            used[0, L_PAIR + len(PAIRS) :] = False
        self.columns = np.flatnonzero(used)

    @property
    def grammar(self) -> str:
        """What structures are made of."""
        return self.structure.grammar

    @property
    def n_features(self) -> int:
        """Number of rules."""
        return self.columns.size

    @property
    def feature_names(self) -> list[Any]:
        """``("rule", "L -> a F u")`` and so on; with depths ``("rule", "L0 -> a F1 u")``."""
        names = []
        for column in self.columns.tolist():
            d, r = divmod(column, N_RULES)
            here, below = ("", "") if self.n_depths == 1 else (str(d), str(min(d + 1, self.n_depths - 1)))
            if r in (S_LS, F_LS):
                name = f"{'S' if r == S_LS else 'F'}{here} -> L{here} S{here}"
            elif r == S_L:
                name = f"S{here} -> L{here}"
            elif r < L_PAIR:
                name = f"L{here} -> {BASES[r - BASE].lower()}"
            else:
                stacked, kind = divmod(r - L_PAIR, len(PAIRS))
                pair = PAIRS[kind].lower()
                head, inner = ("F", here) if stacked else ("L", below)
                name = f"{head}{here} -> {pair[0]} F{inner} {pair[1]}"
            names.append(("rule", name))
        return names

    @property
    def feature_kinds(self) -> list[Any]:
        """Kind of each feature: what a rule makes, of loops the first item of the name."""
        if self.grammar == NEAREST:
            return super().feature_kinds
        rules = self.columns % N_RULES
        kinds = np.select(
            [rules < BASE, rules < L_PAIR, rules < F_PAIR],
            ["branching", "unpaired base", "outer pair"],
            "stacked pair",
        )
        return list(kinds.tolist())

    @property
    def multinomials(self) -> dict[str, np.ndarray]:
        """Features of each left-hand side."""
        heads: dict[str, list[int]] = {}
        for feature, (_, name) in enumerate(self.feature_names):
            heads.setdefault(name.split()[0], []).append(feature)
        return {head: np.array(members, dtype=np.int64) for head, members in heads.items()}

    def pack(  # type: ignore[override]
        self, X: Any, y: Any = None, *, n_jobs: int | None = None, known: Any = None, unknown: str = "error"
    ) -> RNABatch:
        """Compile sequences and, where given, their structures.

        Parameters
        ----------
        X : list of str
            Sequences.
        y : list of str or None
            Structures in dot-bracket notation, perhaps known in part.
        n_jobs : int or None
            Threads of the batch's verbs.
        known : list or None
            Instead of ``y``: what is known of the structure of every sequence, written as in ``y``.
        unknown : {"error", "mark"}
            What to do with a structure that the grammar does not have, unless it is repaired: refuse
            it, or give it the score -inf.
        """
        bases = self.structure.prepare(X)
        batch = self.batch_class(self, bases, None, n_jobs)
        batch.evidence = evidence_scores(bases, batch)
        check_constraints(bases, batch)
        if known is not None:
            check_known(known, len(bases))
            batch.known = [
                self._marks(i, row, text, "strict") for i, (row, text) in enumerate(zip(bases, known))
            ]
        elif y is not None:
            if isinstance(y, (str, bytes)) or not hasattr(y, "__len__") or len(y) != len(bases):
                got = len(y) if hasattr(y, "__len__") else type(y).__name__
                raise InputError(f"X has {len(bases)} sequences but y has {got}")
            self._take_up(batch, y, unknown == "error")
        return batch

    def _marks(self, i: int, bases: np.ndarray, text: Any, invalid: str) -> str | None:
        """What is known of a structure, in marks."""
        invalid = self.structure.invalid if self.structure.invalid == "repair" else invalid
        return pairs.open_marks(i, bases, text, invalid, self.structure.bounds)

    def _take_up(self, batch: RNABatch, y: Any, strict: bool) -> None:
        """Give a batch its true structures."""
        invalid = "strict" if strict else "mark"
        rows: list[Any] = []
        known: list[str | None] = []
        for i, (bases, text) in enumerate(zip(batch.bases, y)):
            marks = self._marks(i, bases, text, invalid) if pairs.is_open(text) else None
            row = None
            if marks is None and not pairs.is_open(text):
                repair = "repair" if self.structure.invalid == "repair" else invalid
                row = pairs.fitted(i, bases, text, repair, self.structure.bounds)
            rows.append(np.full(bases.size, -2) if row is None else row)
            known.append(marks)
        batch.settle(rows, known, strict)

    def agrees(self, x: Any, known: Any, y: Any) -> bool:
        """Whether a structure has the known pairs, and its other bases are what their marks say."""
        predicted = pair_table(y)
        if known is None:
            return True
        marks = known if pairs.is_open(known) else known.replace(".", "x")
        partner = pair_table("".join(mark if mark in "()" else "." for mark in marks))
        holds = {
            "?": lambda i: True,
            "|": lambda i: predicted[i] >= 0,
            "<": lambda i: predicted[i] > i,
            ">": lambda i: 0 <= predicted[i] < i,
            "(": lambda i: predicted[i] == partner[i],
            ")": lambda i: predicted[i] == partner[i],
        }
        return all(holds.get(mark, lambda i: predicted[i] < 0)(i) for i, mark in enumerate(marks))

    def hidden(self, x: Any, y: str, share: float, rng: np.random.Generator) -> str:
        """Bases made unknown one by one; of every third base of a pair it stays known that it is paired."""
        table, marks = pair_table(y), list(y)
        for i, j in enumerate(table):
            if j < i and j >= 0:
                continue  # with its partner
            if rng.random() < share:
                marks[i] = "?"
                if j >= 0:
                    kept = share < 1 and rng.random() < 1 / 3
                    marks[i], marks[j] = ("<|"[int(rng.integers(2))], "?") if kept else ("?", "?")
        if pairs.is_open("".join(marks)):
            return "".join("x" if mark == "." else mark for mark in marks)
        return y

    def enumerate(self, x: Any) -> Iterator[str]:
        """Every structure of one tiny sequence."""
        return map(dot_bracket, pairs.enumerate_tables(pairs.encode(0, x), self.structure.bounds))

    def plain(self) -> RNASpace:
        """Space of the smallest grammar with the same structures, for searches that use no rule."""
        return RNASpace(RNA("g6").with_limits(**dataclasses.asdict(self.structure.limits)))

    def merged(self, other: Space) -> RNASpace:
        """The space itself: rules do not depend on data."""
        return self

    @property
    def outputs_fixed(self) -> bool:
        """True: no data can add a rule."""
        return True

    def restore(self, state: Mapping[str, Any], *, n_jobs: int | None = None) -> RNABatch:
        """Batch from its state; refuses arrays that do not fit."""
        stored = fitting(state, _STORED, "sequences")
        rows = Ragged(stored["bases"], offsets_of(stored["lengths"]))
        gold = Ragged(stored["gold"], rows.offsets)
        batch = self.batch_class(self, rows, gold, n_jobs, stored.get("evidence"))
        known = state.get("known")
        if known is not None:
            if len(known) != len(rows):
                raise InputError("what is known of stored structures does not fit them")
            texts = zip(rows, known, strict=True)
            batch.known = [
                None if k is None else self._marks(i, row, k, "strict") for i, (row, k) in enumerate(texts)
            ]
        if "evidence" in stored and stored["evidence"].size != batch.pair_ptr[-1]:
            raise InputError("stored evidence does not fit its sequences")
        batch.check_gold()
        return batch

    def state(self) -> dict[str, Any]:
        """Nothing: the rules follow from the structure."""
        return {}

    @classmethod
    def from_state(cls, structure: Structure, state: Mapping[str, Any]) -> RNASpace:
        """Build the space again."""
        assert isinstance(structure, RNA)
        groups = state.get("groups")
        if groups is None or structure.grammar != "auto":
            return structure.bind()
        if not (isinstance(groups, list) and set(map(str, groups)) <= set(GROUPS)):
            raise InputError(f"groups of features of RNA are not known: {groups!r:.80}")
        structure.check()
        return NearestSpace(structure, groups)


class NearestSpace(RNASpace):
    """Features of the nearest-neighbour model.

    Parameters
    ----------
    structure : RNA
        Hyper-parameters.
    groups : sequence of str or None
        Optional groups of features; None has those of the structure, and with "auto" also those of the
        model of the package.
    """

    batch_class: ClassVar[type[RNABatch]] = NearestBatch

    def __init__(self, structure: RNA, groups: Sequence[str] | None = None):
        self.structure = structure
        shipped = shipped_loops()[0] if structure.grammar == "auto" else ()
        self.groups = tuple(sorted({*structure.groups, *shipped} if groups is None else groups))
        self._names, self.map = feature_map(self.groups)
        self.stacked = MOST_STACKED if "helix lengths" in self.groups else 1

    @property
    def grammar(self) -> str:
        """``"nearest-neighbour"``, also where the structure says "auto"."""
        return NEAREST

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self._names)

    @property
    def feature_names(self) -> list[Any]:
        """``("stacking", "5'-AC-3' 3'-UG-5'")``, ``("hairpin length", "at least 4")`` and so on."""
        return list(self._names)

    @property
    def multinomials(self) -> dict[str, np.ndarray]:
        """None: the model is not made of choices."""
        return {}

    def state(self) -> dict[str, Any]:
        """With "auto" the groups of features: the model of the package may have others one day."""
        return {"groups": list(self.groups)} if self.structure.grammar == "auto" else {}


RNA.space_class = RNASpace
