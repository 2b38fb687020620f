"""Model files whose contents are damaged but whose checksums are right."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import os
import struct
import zipfile
import zlib
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.exceptions import NotFittedError
from tests.fuzz.samples import extremes, given, save_all, targets
from tests.fuzz.verbs import VERBS, Caught, Nonsense, ask_everything

from trelliswork import InputError, ModelFileError, load
from trelliswork.persist import _archive

VERBS_OF_A_MUTANT = 2  # few questions to many mutants find more than many to few
WHOLE = 10  # in long runs, one in so many mutants is written to a file and asked everything


class Members:
    """Manifest and arrays of a model file, to be changed, and read or written again."""

    def __init__(self, path):
        with zipfile.ZipFile(path) as archive:
            self.manifest = json.loads(archive.read("manifest.json"))
            packed = {n: archive.read(n) for n in archive.namelist() if n.endswith(".npy")}
        self.arrays = {name: np.load(io.BytesIO(raw)) for name, raw in packed.items()}
        self._known = {id(array): _member(packed[name]) for name, array in self.arrays.items()}
        self._model = json.dumps(self.manifest["model"])
        self._places = [path for path in nodes(self.manifest["model"]) if path]
        self._tree = None

    def copy(self):
        """The same members; mutations change a copy and leave its arrays as they are."""
        other = copy.copy(self)
        other.arrays = dict(self.arrays)
        return other

    @property
    def tree(self):
        """The tree of the model, which may be changed."""
        if self._tree is None:
            self._tree = json.loads(self._model)
        return self._tree

    @property
    def seen(self):
        """The tree of the model, which is only looked at."""
        return self.manifest["model"] if self._tree is None else self._tree

    @property
    def places(self):
        """Paths of all values in the tree."""
        if self._places is None:
            self._places = [path for path in nodes(self._tree) if path]
        return self._places

    def tree_changed(self):
        """Note that places are not where they were."""
        self._places = None

    @contextlib.contextmanager
    def opened(self, path, max_bytes):
        """What ``persist`` reads of a file, without one: all but the zip, whose checksums would be right."""
        with _archive.reported(path):
            manifest = {**self.manifest, "members": dict.fromkeys(self.arrays), "model": self.seen}
            yield Unwritten(self.arrays, manifest)

    def write(self, path):
        """Write the file with checksums that are right."""
        members, claims = {}, {}
        for name, array in self.arrays.items():
            known = self._known.get(id(array))
            if known is None:
                out = io.BytesIO()
                np.lib.format.write_array(out, np.asanyarray(array), version=(1, 0))
                known = _member(out.getvalue())
            members[name], claims[name] = known
        text = json.dumps({**self.manifest, "members": claims, "model": self.seen}).encode()
        check = f"{hashlib.sha256(text).hexdigest()}  manifest.json\n".encode()
        packed = {"manifest.json": (text, zlib.crc32(text)), "manifest.sha256": (check, zlib.crc32(check))}
        path.write_bytes(_zipped({**packed, **members}))


class Unwritten(_archive.Archive):
    """Members of a model file that nobody has written."""

    def __init__(self, arrays, manifest):
        super().__init__(None, manifest)
        self.arrays = arrays

    def _parsed(self, name, claim):
        """A copy of an array, in the order in which a file would have it."""
        return np.array(self.arrays[name], order="A")


def _member(raw):
    """Bytes of a member with their check, and what the manifest says of them."""
    claim = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    return (raw, zlib.crc32(raw)), claim


def _zipped(members):
    """Bytes of a zip file that stores members as they are: as ``zipfile`` writes it, but faster."""
    out, directory, place = [], [], 0
    for name, (raw, check) in members.items():
        name = name.encode()
        shared = struct.pack("<HHHHHLLLHH", 20, 0, 0, 0, 33, check, len(raw), len(raw), len(name), 0)
        out += [b"PK\3\4" + shared + name, raw]
        directory.append(b"PK\1\2\x14\3" + shared + struct.pack("<HHHLL", 0, 0, 0, 0, place) + name)
        place += 30 + len(name) + len(raw)
    listed = b"".join(directory)
    end = struct.pack("<4sHHHHLLH", b"PK\5\6", 0, 0, len(members), len(members), len(listed), place, 0)
    return b"".join([*out, listed, end])


def change_values(rng, file, other):
    """Some numbers of an array become others."""
    names = [name for name, array in file.arrays.items() if array.size]
    if not names:
        return
    name = names[rng.integers(len(names))]
    array = file.arrays[name].copy()
    flat = array.reshape(-1)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(flat.size))
        if rng.random() < 0.3:
            flat[place] = flat[rng.integers(flat.size)]
        elif rng.random() < 0.3 and array.dtype.kind in "iu":
            with np.errstate(over="ignore"):
                flat[place] += array.dtype.type(1) if rng.random() < 0.5 else -array.dtype.type(1)
        else:
            flat[place] = extremes(rng, array.dtype)
    file.arrays[name] = array


def scale_values(rng, file, other):
    """An array of numbers is multiplied by a power of ten."""
    names = [name for name, array in file.arrays.items() if array.size and array.dtype.kind == "f"]
    if names:
        name = names[rng.integers(len(names))]
        with np.errstate(over="ignore"):
            file.arrays[name] = file.arrays[name] * 10.0 ** rng.integers(-300, 300)


def change_shape(rng, file, other):
    """An array loses or gains entries, or has another shape or type."""
    names = list(file.arrays)
    if not names:
        return
    name = names[rng.integers(len(names))]
    array = file.arrays[name]
    kind = rng.integers(6)
    if kind == 0:
        array = array.reshape(-1)[: rng.integers(array.size + 1)]
    elif kind == 1:
        array = np.concatenate([array.reshape(-1), array.reshape(-1)[:2]])
    elif kind == 2:
        array = array[None]
    elif kind == 3:
        array = array.T if array.ndim > 1 else array.reshape(-1, 1)
    elif kind == 4:
        array = array[:0]
    elif array.dtype.kind in "iufb":
        target = np.dtype(rng.choice(["<f8", "<f4", "<i8", "<i4", "|u1", "|b1", ">i8"]))
        with np.errstate(all="ignore"):
            array = array.astype(target)
    file.arrays[name] = array


def swap(rng, file, other):
    """Two arrays change places."""
    names = list(file.arrays)
    if len(names) > 1:
        a, b = rng.choice(names, 2, replace=False)
        file.arrays[a], file.arrays[b] = file.arrays[b], file.arrays[a]


def splice(rng, file, other):
    """An array of another model."""
    if file.arrays and other.arrays:
        kind = rng.random() < 0.7
        name = rng.choice(list(file.arrays))
        fits = [a for a in other.arrays.values() if not kind or a.dtype == file.arrays[name].dtype]
        if fits:
            file.arrays[name] = fits[rng.integers(len(fits))]


def nodes(tree, path=()):
    """Paths of all values in a JSON tree."""
    yield path
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from nodes(value, (*path, key))
    elif isinstance(tree, list):
        for i, value in enumerate(tree):
            yield from nodes(value, (*path, i))


def get(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def edit_json(rng, file, other):
    """A value of the manifest becomes another one, moves, or goes."""
    tree, places = file.tree, file.places
    if not places:
        return
    path = places[rng.integers(len(places))]
    holder, key = get(tree, path[:-1]), path[-1]
    kind = rng.integers(5)
    if kind == 0:
        odd = [None, True, -1, 0, 1, 2**40, 1e300, -0.5, "", "x", "CRF", [], {}, [0], [[]], {"a": 1}]
        odd += [{"!float": "nan"}, {"!float": "inf"}, {"!same": 0}, {"!tuple": []}, {"!array": 0}]
        holder[key] = odd[rng.integers(len(odd))]
    elif kind == 1:
        holder[key] = copy.deepcopy(get(tree, places[rng.integers(len(places))]))
    elif kind == 2:
        paths = [(), *other.places]
        holder[key] = copy.deepcopy(get(other.seen, paths[rng.integers(len(paths))]))
    elif kind == 3:
        del holder[key]
    elif isinstance(holder, list) and holder:
        holder.append(copy.deepcopy(holder[rng.integers(len(holder))]))
    elif isinstance(holder, dict):
        holder[str(key) + "_"] = holder.pop(key)
    file.tree_changed()


MUTATIONS = (
    (change_values,) * 6 + (scale_values, change_shape, change_shape, swap, splice, splice) + (edit_json,) * 4
)


class Attack:
    """One damaged model file after the other."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.targets = targets()
        table = self.folder / "data.json"
        self.names = json.loads(table.read_text()) if table.exists() else save_all(self.folder, self.targets)
        self.files = sorted(self.names)
        self.members = {}
        self.whole = 1
        memory = Path("/dev/shm")  # files that nobody writes to a disk
        self.scratch = memory if os.access(memory, os.W_OK) else self.folder

    def warm_up(self):
        """Load all files, and get the code of all verbs ready; most mutants are then asked a few things."""
        for file in self.files:
            name = self.names[file]
            _, X, y = self.targets[name]
            ask_everything(load(self.folder / file, **given(name, self.targets)), X, y)
            self._members(file)
        self.whole = WHOLE

    def _members(self, file):
        if file not in self.members:
            self.members[file] = Members(self.folder / file)
        return self.members[file].copy()

    def case(self, number, seed):
        """Try the mutant with a number; raises what a user should never see."""
        rng = np.random.default_rng([seed, number])
        file = self.files[rng.integers(len(self.files))]
        members = self._members(file)
        other = self._members(self.files[rng.integers(len(self.files))])
        for _ in range(int(rng.integers(1, 3))):
            MUTATIONS[rng.integers(len(MUTATIONS))](rng, members, other)
        whole = number % self.whole == 0
        try:
            model = self._written(members, file) if whole else self._read(members, file)
        except (InputError, ModelFileError, OSError, MemoryError) as error:
            if "\n" in str(error):
                raise Nonsense(f"a message of several lines: {error!r:.300}") from None
            return "refused"
        _, X, y = self.targets[self.names[file]]
        some = range(len(VERBS)) if whole else sorted(rng.permutation(len(VERBS))[:VERBS_OF_A_MUTANT])
        try:
            caught = ask_everything(model, X, y, [VERBS[i] for i in some])
        except NotFittedError:  # models that are not fitted may be saved
            return "refused"
        return Caught(caught[0]) if caught else "answered"

    def _written(self, members, file):
        """The model of a mutant that is written to a file."""
        path = self.scratch / f"trelliswork-mutant-{os.getpid()}.tw"
        try:
            members.write(path)
            return load(path, **given(self.names[file], self.targets))
        finally:
            path.unlink(missing_ok=True)

    def _read(self, members, file):
        """The model of a mutant that is not written: ``load`` gets its manifest and arrays as they are."""
        with mock.patch.object(_archive, "read", members.opened):
            return load("mutant.tw", **given(self.names[file], self.targets))
