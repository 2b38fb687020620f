"""The steps of ``docs/extending.md``, done exactly: in a package beside Trelliswork, and inside a copy of it.

The files, the commands, what they print and the lines of the registries are read from the page.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import trelliswork

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "extending.md").read_text(encoding="utf-8")
SOURCE = Path(trelliswork.__file__).parent

FILES = dict(re.findall(r"^`(\S+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
(CONSOLE,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^\$ (.*)$", CONSOLE, re.MULTILINE)
# file of the package, place in Trelliswork, line and registry (empty where a file needs none)
ROWS = [row.strip("|").split("|") for row in PAGE.splitlines() if row.startswith("| `mypackage/")]
MOVES = [tuple(cell.strip(" `") for cell in row) for row in ROWS]

# Runs commands one after the other as the shell does, but compiles and imports only once.
SHELL = """
import runpy, shlex, sys

for command in sys.argv[1:]:
    print("$", command, flush=True)
    python, *words = shlex.split(command)
    assert python == "python"
    as_module = words[0] == "-m"
    sys.argv = words[as_module:]
    try:
        if as_module:
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        assert not end.code, end.code
    sys.stdout.flush()
"""

# What the page only claims: the other learners, the loss against enumeration, samples in model files.
MORE = """
import numpy as np
import mypackage
import trelliswork as tw
from trelliswork.learners import LEARNERS
from trelliswork.losses import losses_of
from trelliswork.structures import STRUCTURES
from trelliswork.testing import check_learner

X = [["the", "man", "left"], ["she", "saw", "the", "man"], ["she", "left"], ["the", "man", "saw", "her"]]
y = [
    [(0, 2, "NP"), (2, 3, "VP")],
    [(0, 1, "NP"), (1, 2, "VP"), (2, 4, "NP")],
    [(0, 1, "NP"), (1, 2, "VP")],
    [(0, 2, "NP"), (2, 3, "VP"), (3, 4, "NP")],
]
structure = mypackage.Segments(max_length=3)

assert STRUCTURES["Segments"] is tw.Segments is mypackage.Segments
assert LEARNERS["PassiveAggressive"] is tw.PassiveAggressive
assert "boundaries" in losses_of(structure) and "boundaries" not in losses_of(tw.Chain())

tags = [[str(word == "the") for word in x] for x in X]
check_learner(tw.PassiveAggressive(tw.Chain()), X, tags)
for learner in (
    tw.Perceptron(structure),
    tw.StructuredSVM(structure, tol=1e-8),
    tw.StructuredSVM(structure, loss="boundaries", tol=1e-8),
    tw.SODA(structure, 1e-2),
    tw.Generative(structure),
    tw.VotedCRF(structure, 1e-3, 0.1, l2=0.05, tol=1e-6),
):
    done = check_learner(learner, X, y)
    print(type(learner).__name__, *(reason.split(":")[0] for reason in done.skipped))

space = structure.bind(X, y)
loss = mypackage.Boundaries()
for x, segments in zip(X, y):
    others = list(space.enumerate(x))
    found = loss.between(space, [x] * len(others), [segments] * len(others), others)
    assert found.tolist() == [loss(segments, other) for other in others]
    assert found.max() <= loss.max_value(segments)
model = tw.CRF(structure).fit(X, y)
others = list(space.enumerate(X[0]))
shares = np.exp(model.log_prob([X[0]] * len(others), others))
risks = [shares @ [loss(true, other) for true in others] for other in others]
(least,) = model.predict_min_risk(X[:1], "boundaries", k=len(others))
assert abs(risks[others.index(least)] - min(risks)) < 1e-9

whole = tw.SODA(structure, 1e-2).fit(X, y)
for name, part in (("first.tw", slice(0, 2)), ("second.tw", slice(2, 4))):
    tw.save(tw.SODA(structure, 1e-2).fit(X[part], y[part]), name)
merged = tw.load("first.tw").merge(tw.load("second.tw"))
weights = merged.weights_by_name()
assert max(abs(weights.get(n, 0.0) - w) for n, w in whole.weights_by_name().items()) < 1e-6

for outputs, message in (
    ([(0, 2, "NP")], "wrong from token 2 on"),
    ([(0, 4, "NP")], "wrong from token 0 on"),
    ([(0, 1, "NP"), (2, 4, "VP")], "wrong from token 1 on"),
):
    try:
        space.pack([X[1]], [outputs])
    except tw.InputError as error:
        assert str(error).startswith("sample 0: ") and message in str(error), error
    else:
        raise AssertionError(outputs)
    assert model.log_prob([X[1]], [outputs]) == -np.inf
"""

INSIDE = """
import trelliswork as tw
from trelliswork.losses import LOSSES

assert tw.__file__.startswith(SOURCE), tw.__file__
print(tw.Segments.__module__, tw.PassiveAggressive.__module__, LOSSES["boundaries"].__module__)
model = tw.PassiveAggressive(tw.Segments()).fit([["a", "b", "c"]], [[(0, 2, "X"), (2, 3, "Y")]])
print(model.predict([["a", "b", "c"]]))
"""


def shell(folder, source, *commands):
    """What commands print, run in a folder with the package in another one."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, source)))}
    environment.pop("TRELLISWORK_DEBUG", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SHELL, *commands],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def copy(source, target):
    """With its date, so that what was compiled before is found; unless it is just being replaced."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(source, target)


def write(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def test_a_package_beside_trelliswork(tmp_path):
    write(tmp_path, {**FILES, "more.py": MORE})
    said = shell(tmp_path, SOURCE.parent, *COMMANDS, "python more.py")
    said, _, more = said.partition("$ python more.py\n")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(CONSOLE, said, flags), said
    skipped = dict(line.partition(" ")[::2] for line in more.splitlines())
    assert skipped == {
        "Perceptron": "order repetition partly known",
        "StructuredSVM": "partly known",
        "SODA": "warm start partly known",
        "Generative": "warm start partly known",
        "VotedCRF": "partly known",
    }


def test_the_same_files_inside_trelliswork(tmp_path):
    source = tmp_path / "src" / "trelliswork"
    shutil.copytree(SOURCE, source, copy_function=copy)
    names = {file: f"trelliswork/{place}" for file, place, _, _ in MOVES}
    for file, place, line, registry in MOVES:
        text = FILES[file]
        for old, new in names.items():
            text = text.replace(*(name.removesuffix(".py").replace("/", ".") for name in (old, new)))
        assert not (source / place).exists()
        write(source, {place: text})
        if line:
            lines = (source / registry).read_text(encoding="utf-8").splitlines()
            # After the last import, or at the head of the list of tasks.
            after = max(i for i, old in enumerate(lines) if re.match(r"from trelliswork\.|    \{$", old))
            lines.insert(after + 1, line)
            (source / registry).write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert len(MOVES) == 6
    assert sum(bool(line) for _, _, line, _ in MOVES) == 4  # one for each of the four registries
    for folder in {(source / place).parent for _, place, _, _ in MOVES}:
        (folder / "__init__.py").touch()
    assert runpy.run_path(str(TESTS / "test_layers.py"))["upward_imports"](source) == {}

    write(tmp_path, {"inside.py": f"SOURCE = {str(source)!r}\n{INSIDE}"})
    said = shell(tmp_path, source.parent, "python inside.py", "python -m trelliswork train segment --help")
    assert "trelliswork.structures.segments.structure trelliswork.learners.passive_aggressive" in said
    assert "[[(0, 2, 'X'), (2, 3, 'Y')]]" in said
    assert "Learn to cut sentences into segments with labels." in said
    assert "--max-length" in said
