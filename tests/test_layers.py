"""Imports only point down the layers: the floor plan of the package, and the test that keeps it.

Every import counts: at the top of a module, inside a function (that makes it later, not lower), by
``importlib.import_module`` with a name written out, and also under ``TYPE_CHECKING``: a module that names a
class of a higher layer in its annotations cannot be read without that layer.
"""

import ast
from pathlib import Path

import pytest

import trelliswork

# From the ground up. A room is a module or package directly below `trelliswork`; it may import rooms of its
# own layer and of the layers below.
LAYERS = (
    (
        "_blas",
        "_code_cache",
        "_counts",
        "_dotbracket",
        "_errors",
        "_files",
        "_front_door",
        "_interning",
        "_interrupts",
        "_jit",
        "_lines",
        "_names",
        "_ngrams",
        "_parameters",
        "_ragged",
        "_registry",
        "_signature",
        "_sketch",
        "_stored",
        "_text",
        "_threads",
        "_tokens",
        "_trees",
        "_tuning",
        "_validate",
    ),
    ("dp",),
    ("language",),
    ("structures",),
    ("losses", "kernels"),
    ("metrics", "features", "io"),
    ("shards",),
    ("bounds",),
    ("accelerated",),
    ("learners",),
    ("pipeline",),
    ("persist", "testing", "plots", "selection"),
    ("dask",),
    ("_pretrained",),
    ("cli", "demo", "web", "__main__"),
)
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
TOP = len(LAYERS) - 1  # whoever imports the package as a whole knows all of it
PUBLIC = {
    f"trelliswork.{name}": module
    for name, module in {**trelliswork._NAMES, **trelliswork._of_tables()}.items()
}
SOURCE = Path(trelliswork.__file__).parent


def room_of(module):
    """``"dp"`` for ``trelliswork.dp.chain.lanes``; an empty name for ``trelliswork`` itself."""
    return (module.split(".") + [""])[1]


def module_of(path, source):
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(["trelliswork", *(parts[:-1] if parts[-1] == "__init__" else parts)])


def imported(node, package):
    """Full names of the modules, or of the names in them, that one node of a syntax tree imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        parents = package.split(".")[: 1 - node.level or None] if node.level else []
        module = ".".join([*parents, *filter(None, [node.module])])
        return [f"{module}.{alias.name}" for alias in node.names]
    function = getattr(node, "func", None)
    if "import_module" in (getattr(function, "attr", ""), getattr(function, "id", "")) and node.args:
        name = node.args[0]
        return [name.value] if isinstance(name, ast.Constant) else []
    return []


def upward_imports(source):
    """Imports below ``source`` that point up the layers: ``(module, room): where they are``."""
    upward = {}
    for path in sorted(source.rglob("*.py")):
        if path == source / "__init__.py":  # the front door: it lists the public names of all layers
            continue
        module = module_of(path, source)
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in imported(node, package):
                if name.split(".")[0] != "trelliswork" or name == "trelliswork.__version__":
                    continue
                # A public name of the package counts as the module that defines it.
                room = room_of(PUBLIC.get(name, name))
                if HEIGHT.get(room, TOP) > HEIGHT[room_of(module)]:
                    place = f"{path.relative_to(source)}:{node.lineno}: {module} imports {name}"
                    upward.setdefault((module, room), []).append(place)
    return upward


def test_every_room_has_a_layer():
    rooms = {room_of(module_of(path, SOURCE)) for path in SOURCE.rglob("*.py")} - {""}
    assert rooms <= set(HEIGHT), f"add to LAYERS: {sorted(rooms - set(HEIGHT))}"


def test_imports_point_down():
    upward = upward_imports(SOURCE)
    places = [place for found in upward.values() for place in found]
    assert not places, "imports that point up the layers:\n" + "\n".join(places)


@pytest.mark.parametrize(
    ("line", "room"),
    [
        ("import trelliswork.learners.crf", "learners"),
        ("from trelliswork.metrics import entity_f1", "metrics"),
        ("from trelliswork import io", "io"),
        ("from trelliswork import CRF", "learners"),
        ("from trelliswork import __version__", None),
        ("import trelliswork", ""),
        ("from ..learners import crf", "learners"),
        ("from . import batch", None),
        ("from trelliswork.dp.chain import lanes", None),
        ("def late():\n    import trelliswork.cli", "cli"),
        ("if TYPE_CHECKING:\n    from trelliswork.bounds import Bound", "bounds"),
        ("importlib.import_module('trelliswork.persist')", "persist"),
        ("import numpy", None),
    ],
)
def test_all_kinds_of_imports_are_seen(tmp_path, line, room):
    (tmp_path / "structures").mkdir()
    (tmp_path / "structures" / "chain.py").write_text(line, encoding="utf-8")
    assert list(upward_imports(tmp_path)) == [("trelliswork.structures.chain", room)] * (room is not None)
