"""Small models for looking around, one for each structure; trained when they are first asked."""

from __future__ import annotations

import itertools
import random
from typing import Any

from trelliswork._pretrained import PRETRAINED, pretrained
from trelliswork.web.models import Models, Served

__all__ = ["demo_models"]

_PEOPLE = [
    "Ana Lima",
    "Tom Baker",
    "Mei Chen",
    "Omar Haddad",
    "Ruth Cohen",
    "Ivan Petrov",
    "Sara Lindgren",
    "John Okafor",
]
_PLACES = [
    "Lisbon",
    "Oslo",
    "New York",
    "Nairobi",
    "Kyoto",
    "Buenos Aires",
    "Vienna",
    "Cape Town",
    "Lima",
    "Quebec",
]
_FIRMS = ["Northwind", "Acme Bank", "Blue River Energy", "Vega Labs", "Harbour Foods", "Orion Rail"]
_DAYS = ["Monday", "last Friday", "3 May", "12 October 1998", "next week", "1987"]
_SENTENCES = """\
{P} moved to {L} on {D} .|{F} opened an office in {L} .|The mayor of {L} met {P} and {P} .
On {D} {P} left {F} .|{P} works for {F} in {L} .|Nobody in {L} had heard of {F} before {D} .
{F} said that {P} will be its next director .|The train from {L} to {L} is late .|It rained in {L} on {D} .
Shares of {F} fell by 3.5 % on {D} .|Mr {P} , who lives in {L} , was not there .|The river was high .
{P} wrote a book about {L} .|Is {P} from {L} ?|The bank and the energy company signed on {D} ."""

_TREES = """\
(S (NP (D the) (N cat)) (VP (V saw) (NP (D a) (N bird))))
(S (NP (D the) (N man)) (VP (V saw) (NP (NP (D the) (N dog)) (PP (P with) (NP (D a) (N hat))))))
(S (NP (D the) (N man)) (VP (VP (V saw) (NP (D the) (N bird))) (PP (P with) (NP (D a) (N telescope)))))
(S (NP (N Ana)) (VP (V sleeps)))
(S (NP (NP (D the) (N bird)) (PP (P in) (NP (D the) (N garden)))) (VP (V sings)))
(S (NP (N Ana)) (VP (VP (V ate) (NP (D the) (N fish))) (PP (P with) (NP (D a) (N fork)))))
(S (NP (D the) (A old) (N dog)) (VP (V sleeps)))
(S (NP (D a) (N cat)) (VP (VP (V sleeps)) (PP (P in) (NP (D the) (N garden)))))
(S (NP (D the) (A old) (N man)) (VP (V ate) (NP (NP (D the) (N fish)) (PP (P in) (NP (D the) (N garden))))))
(S (NP (N Ana)) (VP (V saw) (NP (D the) (A old) (N cat))))"""

_GREEK = """\
καλημερα kalimera|θαλασσα thalassa|φιλος filos|ψωμι psomi|χαρα chara|βιβλιο vivlio|γατα gata|δεντρο dentro
ζωη zoi|ηλιος ilios|κοσμος kosmos|λογος logos|μηλο milo|νερο nero|ξενος xenos|οδος odos|πολη poli|ρολοι roloi
σπιτι spiti|τραπεζι trapezi|υδωρ ydor|ωρα ora|αγαπη agapi|ουρανος ouranos|μουσικη mousiki|ευχαριστω efcharisto
αυτος aftos|ψαρι psari|φως fos|χρονος chronos|ταξιδι taxidi|ξυλο xylo|θεος theos|παιδι paidi|ημερα imera
νυχτα nychta|γλωσσα glossa|δρομος dromos|αυριο avrio|τουριστας touristas|κουζινα kouzina|βουνο vouno
ιστορια istoria|φωνη foni"""

_ANIMALS = """\
cat mammal fur legs=4 claws milk|dog mammal fur legs=4 barks milk|horse mammal fur legs=4 hooves milk
bat mammal fur legs=2 wings milk night|whale mammal legs=0 fins sea milk
eagle bird feathers legs=2 wings claws eggs
owl bird feathers legs=2 wings night eggs|penguin bird feathers legs=2 sea eggs
duck bird feathers legs=2 wings eggs
shark fish scales legs=0 fins sea|salmon fish scales legs=0 fins sea eggs|trout fish scales legs=0 fins eggs
ant insect legs=6 eggs small|bee insect legs=6 wings eggs small|moth insect legs=6 wings night eggs small"""
_TAXONOMY = [
    ("animal", "vertebrate"), ("animal", "insect"), ("vertebrate", "mammal"), ("vertebrate", "bird"),
    ("vertebrate", "fish"),
]  # fmt: skip


def demo_models() -> Models:
    """The shipped models, and a small trained one for every other structure."""
    shipped = {
        "rna": [
            "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA",
            "GGGGAAAACCCCUUGGCGAAAGCCAA",
        ]
    }
    return Models(
        [
            Served(
                "names", _tagger, "people, places, firms and dates in English; trained on toy sentences",
                ["Ana Chen left Acme Labs in Oslo on 12 May .", "The mayor of Cape Town met Tom Petrov ."],
            ),
            *(
                Served(name, _shipped(name), about, shipped.get(name, []))
                for name, about in PRETRAINED.items()
            ),
            Served(
                "trees", _parser, "a grammar of a few English sentences, some of them ambiguous",
                ["the man saw the bird with a telescope", "Ana ate the fish in the garden with a fork"],
            ),
            Served(
                "dna", _aligner, "global alignment of DNA, affine gaps; scores by hand",
                [["GATTACAGATTACA", "GATACAGTTACA"], ["ACGTTGCATTGCA", "ACGTGCAGCA"]],
            ),
            Served(
                "greek", _transducer, "Greek letters to Latin ones; trained on some forty words",
                ["ποταμος", "ευτυχια", "αυτοκινητο"],
            ),
            Served(
                "animals", _classifier, "animals by what they are like, with a taxonomy",
                ["fur legs=4 milk", "wings legs=2 night", "legs=0 sea eggs"],
            ),
        ]
    )  # fmt: skip


def _shipped(name: str) -> Any:
    return lambda: _opened(name, pretrained(name), kind="fold")


def _opened(name: str, model: Any, **info: Any) -> Any:
    from trelliswork.cli._models import opened_model

    return opened_model(name, model, info)


def sentences(n: int = 300, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences with entities, drawn from templates.

    Parameters
    ----------
    n : int
        How many.
    seed : int
        Seed.
    """
    rng = random.Random(seed)
    kinds = {"{P}": ("PER", _PEOPLE), "{L}": ("LOC", _PLACES), "{F}": ("ORG", _FIRMS), "{D}": ("DATE", _DAYS)}
    templates = _SENTENCES.replace("\n", "|").split("|")
    X, y = [], []
    for _ in range(n):
        tokens: list[str] = []
        labels: list[str] = []
        for slot in rng.choice(templates).split():
            if slot not in kinds:
                tokens.append(slot)
                labels.append("O")
                continue
            kind, names = kinds[slot]
            words = rng.choice(names).split()
            if kind == "PER":  # first and last names of different people
                words = [words[0], rng.choice(names).split()[1]]
            tokens += words
            labels += [f"B-{kind}", *[f"I-{kind}"] * (len(words) - 1)]
        X.append(tokens)
        y.append(labels)
    return X, y


def _tagger() -> Any:
    from trelliswork import CRF, Chain, make_pipeline
    from trelliswork.features import TokenWindow

    X, y = sentences()
    model = make_pipeline(
        TokenWindow(), CRF(Chain(scheme="BIO", emissions="observed"), l2=0.5, max_iter=60, tol=1e-3)
    )
    return _opened("names", model.fit(X, y), kind="tag")


def _parser() -> Any:
    from trelliswork import Generative, Grammar
    from trelliswork._trees import leaves, parse_tree

    trees = _TREES.split("\n")
    X = [leaves(parse_tree(tree)) for tree in trees]
    return _opened("trees", Generative(Grammar(min_count=1, vertical=1)).fit(X, trees), kind="parse")


def _aligner() -> Any:
    from trelliswork import Alignment, Fixed

    weights = {("match",): 2.0, ("mismatch",): -1.0, ("open",): -2.0, ("extend",): -0.5}
    return _opened("dna", Fixed(Alignment("affine", alphabet="ACGT"), weights).fit(), kind="align")


def _transducer() -> Any:
    from trelliswork import CRF, Transducer

    pairs = [pair.split() for pair in _GREEK.replace("\n", "|").split("|")]
    model = CRF(Transducer(max_in=2), l2=0.3, max_iter=60).fit([a for a, _ in pairs], [b for _, b in pairs])
    return _opened("greek", model, kind="transduce")


def _classifier() -> Any:
    from trelliswork import CRF, Classes

    lines = [line.split() for line in _ANIMALS.replace("\n", "|").split("|")]
    links = [*_TAXONOMY, *((line[1], line[0]) for line in lines)]
    X, y = [], []
    for line, left_out in itertools.product(lines, range(4)):  # some know less of the animal
        kept = [cell for i, cell in enumerate(line[2:]) if i != left_out - 1]
        cells = (cell.partition("=") for cell in kept)
        X.append({name: float(value) if equals else 1.0 for name, equals, value in cells})
        y.append(line[0])
    return _opened("animals", CRF(Classes(links), l2=0.05).fit(X, y), kind="classify")
