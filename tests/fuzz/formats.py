"""Formats of input files: good texts, how they are read, and what is asked about them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import trelliswork as tw
from trelliswork import io as readers
from trelliswork._text import read_text
from trelliswork.cli._pairs import read_pairs
from trelliswork.features import TokenWindow, parse_template
from trelliswork.io.trees import some_brackets
from trelliswork.structures.classes.taxonomy import Taxonomy


class Format(NamedTuple):
    """How files of a format are made and read."""

    texts: tuple[bytes, ...]
    read: Callable[[Any], Any]
    ask: Callable[[dict[str, Any], Any], Any] | None = None
    commands: tuple[tuple[str, ...], ...] = ()


CONLL = b"the D O\nold A O\ncat N B-X\n\nAna P B-PER\nRuiz P I-PER\nsleeps V O\n\na D O\ndog N B-X\n"
CONLLU = (
    b"# sent_id = 1\n# text = the cat\n1\tthe\tthe\tDET\tDT\tA=B\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN"
    b"\tNN\t_\t0\troot\t_\tSpaceAfter=No\n\n1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t2\tcase\t_\t_\n2\tel\tel\tDET"
    b"\t_\t_\t0\troot\t_\t_\n2.1\tx\tx\tX\t_\t_\t_\t_\t_\t_\n"
)
TREES = (
    b"(S (NP (D the) (N cat)) (VP (V sleeps)))\n"
    b"( (S (NP-SBJ (D a)\n  (N dog)) (VP (V barks) (NP (-NONE- *)))))\n"
    b"(S (NP (N Ana)) (VP (V sees) (NP (D the) (N dog))))\n"
)
SENTENCES = b"the cat sleeps\nAna sees the dog\n\na dog barks\n"
BRACKETS = b"(NP the cat) sleeps\nAna ( sees the dog )\nthe (VP cat (X barks) )\n"
STOCKHOLM = (
    b"# STOCKHOLM 1.0\n#=GF ID test\na/1-8    GGAA-ACC\nb/1-8    GCAAUAGC\n#=GC SS_cons  ((....))\n"
    b"#=GR a/1-8 SS  ((....))\n//\n"
)
DOT_BRACKET = b">one first\nGGGAAACCC\n(((...)))\n>two\nGCAAAGC\n((...)) (-1.20)\n"
BPSEQ = b"# one\n1 G 5\n2 A 0\n3 A 0\n4 A 0\n5 C 1\n"
CT = (
    b"5 one\n1 G 0 2 5 1\n2 A 1 3 0 2\n3 A 2 4 0 3\n4 A 3 5 0 4\n5 C 4 0 1 5\n"
    b"3 two\n1 A 0 2 0 1\n2 C 1 3 0 2\n3 G 2 0 0 3\n"
)
FASTA = b">one\nGGGAAACCC\nGG\n>two words\nGCAAAGC\n"
PAIRS = b">a\nAC-GT\n>b\nACCG-\n>c\nGATTACA\n>d\nGA-TACA\n"
SVMLIGHT = b"a 1:0.5 3:2 # note\nb 2:1\na 1:-1 2:1e-3\nc 3:4\n"
CSV = b'u,v,w,label\n1,2,red,a\n0.5,,blue,b\n-1,1e3,"gr,een",a\n2,2,red,c\n'
TSV = b"u\tv\tlabel\n1\t2\ta\n0.5\t3\tb\n"
JSONL = (
    b'{"u": 1, "v": "red", "label": "a"}\n{"u": 2.5, "t": ["x", "y"], "label": "b"}\n'
    b'{"v": {"x": 1}, "label": "a"}\n'
)
ARFF = (
    b"% note\n@relation r\n@attribute u numeric\n@attribute 'v w' {red,blue}\n"
    b"@attribute class hierarchical a,a/b,a/c,d\n@data\n1,red,a/b\n?,blue,d\n{0 2.5, 1 blue, 2 a/c@d}\n"
)
ARFF_FLAT = b"@relation r\n@attribute u real\n@attribute class {x,y}\n@data\n1,x\n2,y\n3,x\n"
STRINGS = b"cat\tk a t\ndog\td o g\nact\ta k t\ngod\tg o d\ntag\tt a g\n"
CONSTRAINTS = b">one\n((..x..))\n>two\n|<???>.\n"
MARKS = b"((..x..))\n((...))\n"
SHAPE = b">one\n1 0.5\n2 G 1.25\n9 NA\n>two\n3 -999\n"
TEMPLATE = b"bias; lower, suffix:2-3, flags @ -1..1\nshape, prefix:1; pos=col:1[:2] @ 0; word @ -2,2"
TAXONOMY = b"r\tp\nr\tq\np\ta\np\tb\nq\tc\n"
RAW = "Sí, Ana vió 3.5 casas; e-mail: a@b.c (o no)!\n\nthe U.S. cat’s \U0001f600\n".encode()

NAMES, BASES = ("one", "two"), ("GGGAAACCC", "GCAAAGC")

# One training text of each task of the command line; models are few and quick.
TRAINING = {
    "tag": (CONLL * 2, ("--max-iter", "3")),
    "parse": (TREES, ()),
    "transduce": (STRINGS, ("--max-iter", "2")),
    "classify": (SVMLIGHT, ("--max-iter", "3")),
    "fold": (DOT_BRACKET, ("--max-iter", "2", "--grammar", "g6")),
    "align": (PAIRS, ("--max-iter", "2")),
}

X_WORDS, Y_WORDS = [["the", "cat"], ["a", "dog"], ["Ana"]], [["D", "N"], ["D", "N"], ["P"]]
MODELS = {
    "words": lambda: tw.make_pipeline(TokenWindow(), tw.Perceptron(tw.Chain(), max_iter=2)).fit(
        X_WORDS, Y_WORDS
    ),
    "trees": lambda: tw.Perceptron(tw.Grammar(), max_iter=1).fit(
        [["the", "cat"], ["a", "dog"]], ["(S (D the) (N cat))", "(S (D a) (N dog))"]
    ),
    "folds": lambda: tw.Perceptron(tw.RNA("g6"), max_iter=1).fit(["GGAAACC"], ["((...))"]),
    "rows": lambda: tw.Perceptron(tw.Classes(), max_iter=1).fit([{"u": 1.0}, {"v": 2.0}], ["a", "b"]),
    "pairs": lambda: tw.Perceptron(tw.Alignment("affine"), max_iter=1).fit([("AB", "B")], [("AB", "-B")]),
    "strings": lambda: tw.Perceptron(tw.Transducer(min_context=1), max_iter=1).fit(["cat"], ["kat"]),
}


def _flat(rows):
    return [[token if isinstance(token, str) else token[0] for token in row] for row in rows]


def _ask(model, X, y=None, most=40):
    """Predictions for the short ones; a score where there are outputs."""
    short = [i for i, x in enumerate(X) if sum(map(len, x)) <= 4 * most][:3]
    if short:
        model.predict([X[i] for i in short])
        if y is not None:
            model.log_prob([X[i] for i in short], [y[i] for i in short])


def _lines(source):
    return read_text(source)[0].split("\n")


def _fold(models, read):
    _ask(models["folds"], read.X, read.y if read.y and None not in read.y else None)


def _pairs(models, read):
    _ask(models["pairs"], [(a, b) for a, b in read.aligned().X])


def _rows(models, read):
    _ask(models["rows"], read.X, None)
    if read.y:
        models["rows"].score(read.X[:3], read.y[:3])


def _template(source):
    text = read_text(source)[0]
    parse_template(text)
    return text


def _taxonomy(source):
    with tempfile.NamedTemporaryFile(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as file:
        file.write(source.read())
        file.flush()
        return Taxonomy.read(file.name)


def _constraints(source):
    marks = readers.read_constraints(source, NAMES)
    return [
        tw.Evidence(x, constraint=marks[name]) for name, x in zip(NAMES, BASES, strict=True) if name in marks
    ]


def _shape(source):
    values = readers.read_shape(source, NAMES, BASES)
    return [
        tw.Evidence(x, shape=values[name]) for name, x in zip(NAMES, BASES, strict=True) if name in values
    ]


def _commands(task, predict=(), evaluate=(), more=()):
    """Train, predict and evaluate with a damaged file."""
    model = f"{{DIR}}/{task}.tw"
    out = [("train", task, "{IN}", "-o", "{OUT}", "-q", *TRAINING[task][1])]
    out += [("predict", model, "{IN}", "-o", "{OUT}", *words) for words in predict]
    out += [("evaluate", model, "{IN}", *words) for words in evaluate]
    return (*out, *more)


_KBEST = ("--kbest", "2"), ("--probabilities",), ()
FORMATS = {
    "conll": Format(
        (CONLL,),
        readers.read_conll,
        lambda models, read: _ask(models["words"], _flat(read.X)),
        _commands("tag", (*_KBEST, ("--known",)), ((), ("--json",))),
    ),
    "conllu": Format(
        (CONLLU,),
        readers.read_conllu,
        lambda models, read: _ask(models["words"], _flat(read.X)),
        _commands("tag", (*_KBEST, ("--format", "json")), ((),)),
    ),
    "raw": Format(
        (RAW,),
        lambda source: [tokens for line in _lines(source) if (tokens := readers.tokenize(line))],
        lambda models, read: _ask(models["words"], read),
        (("predict", "{DIR}/tag.tw", "{IN}", "-o", "{OUT}", "--raw"),),
    ),
    "trees": Format(
        (TREES,),
        readers.read_trees,
        lambda models, read: _ask(models["trees"], read.X, read.y, 10),
        _commands("parse", _KBEST, ((), ("--json",))),
    ),
    "sentences": Format(
        (SENTENCES,),
        lambda source: [line.split() for line in _lines(source) if line.split()],
        lambda models, read: _ask(models["trees"], read, None, 10),
        (("predict", "{DIR}/parse.tw", "{IN}", "-o", "{OUT}", "--probabilities"),),
    ),
    "brackets": Format(
        (BRACKETS,),
        lambda source: [some_brackets(line) for line in _lines(source) if line.split()],
        lambda models, read: models["trees"].predict(
            [w for w, _ in read[:2]], known=[k for _, k in read[:2]]
        ),
        (("predict", "{DIR}/parse.tw", "{IN}", "-o", "{OUT}", "--known"),),
    ),
    "stockholm": Format((STOCKHOLM,), readers.read_stockholm, _fold, _commands("fold", _KBEST, ((),))),
    "dot-bracket": Format(
        (DOT_BRACKET,), readers.read_dot_bracket, _fold, _commands("fold", (*_KBEST, ("--known",)), ((),))
    ),
    "bpseq": Format((BPSEQ,), readers.read_bpseq, _fold, _commands("fold", ((), ("--mea",)), ((),))),
    "ct": Format((CT,), readers.read_ct, _fold, _commands("fold", ((), ("--format", "bpseq")), ((),))),
    "fasta": Format((FASTA,), readers.read_fasta, _fold, _commands("fold", _KBEST)),
    "any-rna": Format((STOCKHOLM, DOT_BRACKET, BPSEQ, CT, FASTA), readers.read_rna, _fold),
    "aligned": Format(
        (PAIRS,), readers.read_fasta_pairs, _pairs, _commands("align", (*_KBEST, ("--mea",)), ((),))
    ),
    "svmlight": Format((SVMLIGHT,), readers.read_rows, _rows, _commands("classify", _KBEST, ((),))),
    "csv": Format((CSV, TSV), readers.read_rows, _rows, _commands("classify", _KBEST, ((),))),
    "jsonl": Format((JSONL,), readers.read_rows, _rows, _commands("classify", _KBEST, ((),))),
    "arff": Format((ARFF, ARFF_FLAT), readers.read_rows, _rows, _commands("classify", _KBEST, ((),))),
    "strings": Format(
        (STRINGS,),
        partial(read_pairs, encoding=None, labelled=True),
        lambda models, read: _ask(models["strings"], read.inputs, read.outputs, 5),
        _commands("transduce", (*_KBEST, ("--show-alignment",)), ((),)),
    ),
    "constraints": Format(
        (CONSTRAINTS, MARKS), _constraints, lambda models, read: models["folds"].predict(read)
    ),
    "shape": Format((SHAPE,), _shape, lambda models, read: models["folds"].predict(read)),
    "template": Format(
        (TEMPLATE,),
        _template,
        lambda models, read: TokenWindow.from_template(read).fit_transform([[("the", "D")]]),
    ),
    "taxonomy": Format((TAXONOMY,), _taxonomy, lambda models, read: read.edges),
}
