"""Model files: exact round trips, atomic writes, and every kind of bad file."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import pickle
import random
import stat
import time
import tracemalloc
import warnings
import zipfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from trelliswork._errors import InputError, ModelFileError
from trelliswork.features import TokenWindow
from trelliswork.learners import CRF
from trelliswork.persist import _archive, _classes, load, save
from trelliswork.persist._values import Decoder, Encoder
from trelliswork.structures import Chain, ChainSpace, Derivations, Edge, Structure

X = [["the", "cat"], ["a", "dog", "barks"]]
Y = [["D", "N"], ["D", "N", "V"]]


class Toy(BaseEstimator):
    """The least that a learner can be."""

    def __init__(self, structure=None, *, alpha=1.0, loss=None, extra=None):
        self.structure = structure
        self.alpha = alpha
        self.loss = loss
        self.extra = extra

    def fit(self, X, y):
        self.space_ = self.structure.bind(X, y)
        rng = np.random.default_rng(0)
        self.coef_ = rng.normal(size=self.space_.n_features)
        self.history_ = [{"objective": 2.5, "gap": float("inf")}]
        self.n_iter_ = 3
        self._cache = object()
        return self

    def predict(self, X):
        batch = self.space_.pack(X)
        return batch.unpack(batch.argmax(batch.scores(self.coef_)).codes)


class Hooked(Toy):
    def __tw_state__(self):
        return {"w": self.coef_, "n": (1, 2)}

    def __tw_restore__(self, state):
        self.coef_, self.n_ = state["w"], state["n"]


class ToyLoss(BaseEstimator):
    def __init__(self, scale=2):
        self.scale = scale


class OwnSpace(ChainSpace):
    pass


class Own(Chain):
    """A structure with a function."""

    space_class = OwnSpace

    def __init__(self, build=None, order=1):
        super().__init__(order)
        self.build = build


class Stranger(Chain):
    """A structure that is in no table."""


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    known = _classes.table
    own = {"learners": [Toy, Hooked], "losses": [ToyLoss], "structures": [Own]}

    def table(kind):
        return {**known(kind), **{cls.__name__: cls for cls in own.get(kind, ())}}

    monkeypatch.setattr(_classes, "table", table)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.tw"


@pytest.fixture
def model():
    return Toy(Chain(order=2, labels=["D", "N", "V"]), loss=ToyLoss(3)).fit(X, Y)


def through_file(model, path, **how):
    save(model, path)
    return load(path, **how)


def roundtrip(value):
    encoder = Encoder()
    tree = json.loads(json.dumps(encoder.encode(value, ("v",)), allow_nan=False, ensure_ascii=False))
    return Decoder(encoder.arrays.__getitem__, 1 << 30).decode(tree)


def same(a, b):
    if isinstance(a, np.ndarray):
        return (
            type(b) is np.ndarray and a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    return a == b or (a != a and b != b)


def equal_models(a, b):
    if isinstance(a, Pipeline):
        return [n for n, _ in a.steps] == [n for n, _ in b.steps] and all(
            equal_models(x, y) for (_, x), (_, y) in zip(a.steps, b.steps, strict=True)
        )
    return (
        type(a) is type(b)
        and repr(a) == repr(b)
        and same(getattr(a, "coef_", None), getattr(b, "coef_", None))
        and ("space_" not in vars(a) or same(a.space_.state(), b.space_.state()))
        and getattr(a, "history_", None) == getattr(b, "history_", None)
    )


# -- values ----------------------------------------------------------------------------------

VALUES = [
    None,
    True,
    0,
    -(10**30),
    -0.0,
    1e-310,
    0.1,
    float("nan"),
    float("-inf"),
    "",
    "é\0\n\u2028😀",
    "\ud800\udc00",
    b"\x00\xff",
    (),
    [],
    {},
    ("a", (1, (None, 2.5))),
    {"a": {"!tuple": 1}, "b": [{"c": ()}]},
    {"!float": "nan"},
    {1: "a", "1": "b", (1, "x"): None, None: 0, 2.5: 1, b"k": 1},
    {True: "a", "x": {2: 3}},
    {1, 2, "x"},
    frozenset([(1, 2), (3, 4)]),
    list(range(100)),
    [2**70] * 100,
    [0.1, float("nan"), -0.0] * 50,
    ["é", "", "b\ud800"] * 100,
    tuple(f"w{i}" for i in range(100)),
    [("emission", f"w{i}", "N") for i in range(100)],
    [["a"] * (i % 5) for i in range(100)],
    [True] * 100,
    [1, 2.0] * 100,
    [[] for _ in range(100)],
    {f"w{i}": i for i in range(100)},
    {f"w{i}": {"a": i} for i in range(100)},
    [{"objective": 1.5, "step": i} for i in range(100)],
    {"!x": 1, "\ud800": 2},
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6, dtype=np.int8).reshape(2, 3)),
    np.array(3.0, dtype=np.float32),
    np.zeros((0, 4), dtype=bool),
    np.array(["é", "abc"]),
    np.array([1.5], dtype=">f8"),
    np.array([("a", 1), None, "x"], dtype=object),
    np.arange(20)[::2],
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_values_come_back_exactly(value):
    back = roundtrip(value)
    assert same(value, back), back
    if isinstance(value, float) and value == 0:
        assert np.signbit(back) == np.signbit(value)
    if isinstance(value, np.ndarray) and value.ndim == 2:
        assert same(value, back)


def test_numpy_scalars_become_python_values():
    back = roundtrip([np.int64(3), np.float64(0.5), np.bool_(True), np.str_("a"), (np.float32(0.5),)])
    assert same(back, [3, 0.5, True, "a", (0.5,)])


@pytest.mark.parametrize(
    ("shape", "data", "indices", "indptr"),
    [
        ([2, 3], [], [], [0, 5, 0]),  # SciPy takes it, and reads outside of its arrays later
        ([2, 3], [], [], [0, 0]),
        ([1, 3], [1.0], [3], [0, 1]),
        ([1, 3], [1.0], [-1], [0, 1]),
        ([1, 3], [1.0], [0, 1], [0, 1]),
    ],
)
def test_sparse_rows_that_refer_to_nothing(shape, data, indices, indptr):
    from trelliswork.persist._values import _check_csr

    parts = np.array(data, dtype=float), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
    with pytest.raises(ValueError, match="sparse matrix"):
        _check_csr(shape, *parts)


def test_sparse_rows():
    matrix = sp.random(5, 7, 0.3, format="csr", random_state=0)
    for value in (matrix, sp.csr_array(matrix)):
        back = roundtrip(value)
        assert type(back) is type(value)
        assert (back != value).nnz == 0


@pytest.mark.parametrize(
    "value",
    [Decimal(1), object(), 1j, np.array([1j]), np.array(["2020-01-01"], dtype="M8[D]"), 10**4000, slice(1)]
    + [np.ma.masked_array([1]), np.random.RandomState(0), [[Decimal(2)]], {Decimal(1): 2}, Path("a"), len],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_saved_is_named(value, path):
    model = Toy()
    model.thing_ = {"a": value}
    with pytest.raises(InputError, match=r"^thing_\.a.* cannot be saved") as caught:
        save(model, path)
    assert "\n" not in str(caught.value)
    assert not path.exists()


def test_endless_lists_are_refused(path):
    loop = []
    loop.append(loop)
    with pytest.raises(InputError, match="nested more than"):
        save(Toy(extra=loop), path)


# -- models ----------------------------------------------------------------------------------


def test_a_model_comes_back(model, path):
    back = through_file(model, str(path))
    assert equal_models(model, back)
    assert back.predict(X) == model.predict(X)
    assert back.loss.scale == 3
    assert back.n_iter_ == 3
    assert back.space_.structure is back.structure
    assert not hasattr(back, "_cache")
    assert back.coef_.flags.writeable
    assert repr(clone(back)) == repr(clone(model))


def test_observed_weights_and_edges(path):
    chain = Chain(emissions="observed", transitions={("D", "N"), ("N", "V")}, edge_features=("c", "d"))
    model = Toy(chain).fit(X, Y)
    back = through_file(model, path)
    assert equal_models(model, back)
    assert back.structure.transitions == chain.transitions


@pytest.mark.parametrize("labels", [[1, 2], [0.5, 2.0], [True, False], [("a", 1), ("b", None)], [None, "x"]])
def test_labels_keep_their_types(labels, path):
    model = Toy(Chain()).fit([["a", "b"]], [labels])
    assert same(through_file(model, path).space_.labels, model.space_.labels)


def test_labels_that_cannot_be_saved(path):
    model = Toy(Chain()).fit([["a", "b"]], [[Decimal(1), Decimal(2)]])
    with pytest.raises(
        InputError, match=r"space_\.labels\.0: values of type Decimal cannot be saved; use str"
    ):
        save(model, path)


def test_hooks(path):
    model = Hooked(Chain()).fit(X, Y)
    back = through_file(model, path)
    assert back.n_ == (1, 2)
    assert back.predict(X) == model.predict(X)


def test_unfitted(path):
    back = through_file(Toy(Chain(), alpha=np.inf), path)
    assert back.alpha == np.inf
    assert not hasattr(back, "space_")


def test_nested_fitted_models_share_what_they_shared(model, path):
    outer = Toy()
    outer.estimators_ = [model, model, Toy(model.structure)]
    back = through_file(outer, path)
    assert back.estimators_[0] is back.estimators_[1]
    assert back.estimators_[2].structure is back.estimators_[0].structure
    assert equal_models(model, back.estimators_[0])


def test_pipeline(model, path):
    window = TokenWindow.tutorial(columns={}, neighbours={"suffixes": ()})
    pipe = make_pipeline(window, Toy(Chain()), memory=None, verbose=True).fit(X, Y)
    back = through_file(pipe, path)
    assert equal_models(pipe, back)
    assert back.predict(X) == pipe.predict(X)
    assert back.verbose is True


def test_pipeline_with_a_foreign_step(path):
    with pytest.raises(InputError, match="kbinsdiscretizer: KBinsDiscretizer cannot be saved"):
        save(make_pipeline(KBinsDiscretizer(), Toy(Chain())), path)


@pytest.mark.parametrize("value", [3, None, StandardScaler(), Toy, [Toy()]], ids=lambda v: type(v).__name__)
def test_not_a_model(value, path):
    with pytest.raises(InputError, match="cannot be saved"):
        save(value, path)


def test_a_search_says_what_to_save(model, path):
    search = StandardScaler()
    search.best_estimator_ = model
    with pytest.raises(InputError, match="save its best_estimator_"):
        save(search, path)


def shout(token):
    return [token[0].upper()]


def test_functions_of_transformers_are_given_again(path):
    window = TokenWindow(extra=shout, neighbours={"extra": shout})
    pipe = make_pipeline(window, Toy(Chain())).fit(X, Y)
    save(pipe, path)
    with pytest.raises(InputError, match=r"functions=\{'tokenwindow__extra': ...\}"):
        load(path)
    back = load(path, functions={"tokenwindow__extra": shout})
    assert back.predict(X) == pipe.predict(X)
    assert back[0].neighbours == {"extra": shout}
    with pytest.raises(InputError, match="functions has 'other'"):
        load(path, functions={"other": shout})


def test_functions_of_structures_are_given_again(path):
    model = Toy(Own(shout, order=2)).fit(X, Y)
    model.space_.__class__ = OwnSpace
    save(model, path)
    with pytest.raises(
        InputError, match=r"structure__build was not saved.*load\(path, structure=Own\(...\)\)"
    ):
        load(path)
    given = Own(shout, order=2)
    back = load(path, structure=given)
    assert back.structure is given
    assert back.space_.structure is given
    assert back.predict(X) == model.predict(X)
    assert load(path, functions={"structure__build": shout}).structure.build is shout
    with pytest.raises(InputError, match=r"saved with Own\(order=2\), structure has order=1"):
        load(path, structure=Own(shout))
    with pytest.raises(InputError, match="saved with Own, structure is Chain"):
        load(path, structure=Chain())
    with pytest.raises(InputError, match="structure must be a Structure"):
        load(path, structure=shout)


def pieces(x):
    yield Edge(len(x))
    for i in reversed(range(len(x))):
        for j in range(i + 1, len(x) + 1):
            yield Edge(i, [j], ["".join(x[i:j]), ("length", j - i)], (i, j))


def test_derivations(path):
    structure = Derivations(pieces)
    model = CRF(structure).fit(["abc", "ab"], [[(0, 1), (1, 3)], [(0, 2)]])
    save(model, path)
    with pytest.raises(InputError, match=r"structure=Derivations\(...\)"):
        load(path)
    back = load(path, structure=structure)
    assert back.space_.feature_names == model.space_.feature_names
    assert np.array_equal(back.coef_, model.coef_)
    assert back.predict(["abab"]) == model.predict(["abab"])


def test_structures_of_the_users_own(path):
    model = Toy(Stranger()).fit(X, Y)
    model.space_.__class__ = ChainSpace
    save(model, path)
    with pytest.raises(InputError, match=r"structure=Stranger\(...\)"):
        load(path)
    with pytest.raises(InputError, match="saved with Stranger, structure is Chain"):
        load(path, structure=Chain())
    assert load(path, structure=Stranger()).predict(X) == model.predict(X)


def test_structure_may_be_given_though_not_needed(model, path):
    save(model, path)
    assert equal_models(model, load(path, structure=Chain(order=2, labels=["D", "N", "V"])))
    with pytest.raises(InputError, match="order=2"):
        load(path, structure=Chain(labels=["D", "N", "V"]))
    save(Toy(), path)
    with pytest.raises(InputError, match="the model has none"):
        load(path, structure=Chain())


def test_same_model_same_bytes(model, tmp_path):
    model.structure.transitions = {("D", "N"), ("N", "V"), ("N", "D"), ("V", "D")}
    save(model, tmp_path / "a")
    time.sleep(0.01)
    save(model, tmp_path / "b")
    save(load(tmp_path / "a"), tmp_path / "c")
    one, two, three = ((tmp_path / n).read_bytes() for n in "abc")
    assert one == two == three


def test_a_hundred_thousand_strings(path):
    model = Toy()
    model.names_ = [f"word.lower=w{i}é" for i in range(100_000)]
    model.index_ = {name: i for i, name in enumerate(model.names_)}
    start = time.perf_counter()
    save(model, path)
    middle = time.perf_counter()
    back = load(path)
    taken = time.perf_counter() - middle
    assert back.names_ == model.names_
    assert back.index_ == model.index_
    assert list(back.index_) == model.names_
    assert path.stat().st_size < 1_500_000
    assert middle - start < 3
    assert taken < 1.5  # about 0.1 s; generous, since test machines are busy


# -- writing ---------------------------------------------------------------------------------


def test_permissions(model, path, tmp_path):
    old = os.umask(0o027)
    try:
        save(model, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        save(model, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(old)
    assert os.listdir(tmp_path) == ["model.tw"]


def test_links_are_followed(model, path, tmp_path):
    link = tmp_path / "link.tw"
    link.symlink_to(path)
    save(model, link)
    assert link.is_symlink()
    assert equal_models(model, load(path))


@pytest.mark.parametrize("when", ["write", "fsync", "replace", "interrupt"])
def test_the_old_file_survives(model, path, tmp_path, monkeypatch, when):
    save(model, path)
    before = path.read_bytes()

    def full(*args, **kwargs):
        if when == "interrupt":
            raise KeyboardInterrupt
        raise OSError(errno.ENOSPC, "No space left on device")

    if when in ("write", "interrupt"):
        monkeypatch.setattr(zipfile._ZipWriteFile, "write", full)
    else:
        monkeypatch.setattr(os, when, full)
    expected = KeyboardInterrupt if when == "interrupt" else OSError
    with pytest.raises(expected) as caught:
        save(Toy(Chain()), path)
    if when != "interrupt":
        assert caught.value.errno == errno.ENOSPC
        assert "not saved: No space left on device" in str(caught.value)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.tw"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_really_full_disk(model, path, tmp_path, monkeypatch):
    model.big_ = np.random.default_rng(0).normal(size=100_000)
    real = os.open

    def redirect(name, flags, *mode):
        handle = real(name, flags, *mode)
        if str(name).endswith(".tmp"):
            os.close(handle)
            handle = real("/dev/full", os.O_RDWR)
        return handle

    monkeypatch.setattr(os, "open", redirect)
    with pytest.raises(OSError, match="not saved: No space left on device"):
        save(model, path)
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"not saved.*nowhere"):
        save(model, tmp_path / "nowhere" / "m.tw")
    with pytest.raises(IsADirectoryError, match="this is a directory"):
        save(model, tmp_path)
    with pytest.raises(OSError, match="device or pipe"):
        save(model, os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(InputError, match="path must be"):
        save(model, 3)


def test_read_only_places_whoever_runs_the_tests(model, path, tmp_path, monkeypatch):
    save(model, path)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *args: False)
        with pytest.raises(PermissionError, match="read-only"):
            save(model, path)

    def refuse(*args):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OSError, match=r"not saved: Read-only file system.*model\.tw"):
        save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.tw"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only(model, path, tmp_path):
    save(model, path)
    path.chmod(0o400)
    with pytest.raises(PermissionError, match="read-only"):
        save(model, path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="not saved"):
            save(model, tmp_path / "new.tw")
    finally:
        tmp_path.chmod(0o700)


# -- bad files -------------------------------------------------------------------------------


def refused(path, match=None, **how):
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path, **how)
    text = str(caught.value)
    assert text.startswith(f"{path}: "), text
    assert "\n" not in text
    assert len(text) < 500
    return text


def test_no_file(path):
    with pytest.raises(FileNotFoundError, match=r"no such model file.*model\.tw"):
        load(path)


def make_zip(path, members):
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")  # two members of one name
        for name, data in members:
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "empty"),
        (b"some text\n", "not a Trelliswork model file"),
        (pickle.dumps([1, 2]), "pickle"),
        (b"PK", "not a Trelliswork"),
        (b"PK\3\4", "cut off"),
        (b"PK\5\6" + b"\0" * 18, "not a Trelliswork"),
        (b"PK\3\4" + b"PK\5\6" + b"\0" * 18, "no Trelliswork manifest"),
        (b"PK\3\4" + b"PK\5\6" + b"\xff" * 16 + b"\0\0", "members"),
    ],
)
def test_foreign_files(path, content, match):
    path.write_bytes(content)
    refused(path, match)


def test_foreign_zips_and_folders(path, tmp_path):
    refused(tmp_path, "a directory")
    make_zip(path, [("a.txt", b"x")])
    refused(path, "no Trelliswork manifest")
    make_zip(path, [("manifest.json", b"{}")])
    refused(path, "no Trelliswork manifest")
    out = io.BytesIO()
    np.savez(out, a=np.zeros(3))
    path.write_bytes(out.getvalue())
    refused(path, "no Trelliswork manifest")
    if os.path.exists("/dev/zero"):
        refused("/dev/zero", "device")


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def forge(path, manifest=None, files=(), more=(), **changes):
    """A file with valid checksums and whatever content."""
    if manifest is None:
        table = {n: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in files}
        manifest = {"format": "trelliswork-model", "format_version": 1, "trelliswork": "0.1.0"}
        manifest |= {"given": [], "model": {"!object": ["learners.Toy", {}, None, {}]}, "members": table}
        manifest |= changes
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    check = hashlib.sha256(text).hexdigest().encode() + b"  manifest.json\n"
    make_zip(path, [("manifest.json", text), ("manifest.sha256", check), *files, *more])


def toy(params=None, space=None, state=None, name="learners.Toy"):
    return {"!object": [name, params or {}, space, state or {}]}


def test_the_forger_can_make_valid_files(path):
    forge(path, files=[("0.npy", npy(np.arange(3)))], model=toy({"alpha": {"!array": 0}}))
    assert load(path).alpha.tolist() == [0, 1, 2]


MANIFESTS = [
    ({"format_version": 2, "trelliswork": "9.9"}, "written by trelliswork 9.9 in format 2.*upgrade"),
    ({"format_version": "1"}, "version"),
    ({"format_version": True}, "version"),
    ({"format": "other"}, "not that of a Trelliswork model"),
    ({"model": toy(name="os.system")}, "class 'os.system', which trelliswork"),
    ({"model": toy(name="learners.os.system")}, "class"),
    ({"model": toy(name="structures.__class__")}, "class"),
    ({"model": toy(name="sys.modules")}, "class"),
    ({"model": toy(name=["learners", "Toy"])}, "class"),
    ({"model": toy({"beta": 1})}, "no parameter 'beta'"),
    ({"model": toy({"self": 1})}, "no parameter"),
    ({"model": toy({"memory": "/tmp/x", "steps": []}, name="sklearn.Pipeline")}, "no parameter 'memory'"),
    ({"model": toy(state={"predict": 1})}, "not a fitted attribute"),
    ({"model": toy(state={"__class__": 1})}, "not a fitted attribute"),
    ({"model": toy(state={"__dict__": {}})}, "not a fitted attribute"),
    ({"model": toy(space=[1])}, "not a space"),
    ({"model": toy({"alpha": {"!same": 0}})}, "damaged"),
    ({"model": toy({"alpha": {"!same": -1}})}, "damaged"),
    ({"model": toy({"alpha": {"!given": "x"}})}, "does not list"),
    ({"model": toy({"alpha": {"!array": 0}})}, "missing"),
    ({"model": toy({"alpha": {"!array": "../../etc/passwd"}})}, "numbered"),
    ({"model": toy({"alpha": {"!pickle": "x"}})}, "unknown tag"),
    ({"model": toy({"alpha": {"!float": "1"}})}, "damaged"),
    ({"model": toy({"alpha": {"!float": "nan", "b": 1}})}, "damaged"),
    ({"model": toy({"alpha": {"!dict": [[[1]], [2]]}})}, "damaged"),
    ({"model": toy({"alpha": {"!csr": ["csr_matrix", [1, 1], 0, 1, 2]}})}, "damaged"),
    ({"model": toy({"alpha": {"!csr": ["os", [1, 1], 0, 1, 2]}})}, "damaged"),
    ({"model": toy({"alpha": {"!objects": [[10**9], [1]]}})}, "damaged"),
    ({"model": 3}, "not hold a model"),
    ({"model": [toy()]}, "not hold a model"),
    ({"model": {"!object": 3}}, "damaged"),
    ({"model": {"!space": [toy(name="structures.Chain"), {}]}}, "damaged"),
    ({"model": {"!space": [toy(), {}]}}, "space without a structure"),
    ({"members": 3}, "damaged"),
    ({"members": {"0.npy": {}}}, "not those of its manifest"),
    ({"given": 3}, "damaged"),
]


@pytest.mark.parametrize(("changes", "match"), MANIFESTS, ids=lambda v: f"{v!r:.60}")
def test_hostile_manifests(path, changes, match):
    forge(path, **changes)
    refused(path, match)


@pytest.mark.parametrize(
    "text",
    [b"[]", b"null", b"{", b"\xff\xfe", b'{"a": NaN}', b"[" * 1_000_000, b'{"a":' * 200_000, b"1" * 10_000],
    ids=lambda t: f"{t[:12]!r}",
)
def test_manifests_that_are_not_manifests(path, text):
    forge(path, text)
    refused(path)


def test_deep_trees(path):
    tree = 1
    for _ in range(400):
        tree = [tree]
    forge(path, model=toy({"alpha": tree}))
    refused(path, "nested too deep")


class Payload:
    def __init__(self, flag):
        self.flag = flag

    def __reduce__(self):
        return Path.touch, (self.flag,)


def header(text, body=b""):
    text = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


NPY = [
    header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"),
    header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 100000000000000000000), }"),
    header("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", b"\0" * 8),
    header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", b"\0" * 9),
    header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", pickle.dumps([1])),
    header("{'descr': '|V8', 'fortran_order': False, 'shape': (1,), }", b"\0" * 8),
    header("{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", b"\0" * 16),
    header("{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }", b"\0" * 3),
    header("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000,), }"),
    header("{'descr': '<U500000000', 'fortran_order': False, 'shape': (0,), }"),
    header("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", b"\xff" * 4),
    header("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", b"\x07"),
    header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", b"\0" * 8),
    header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", b"\0" * 8),
    header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1, " * 40 + "), }", b"\0" * 8),
    header("__import__('os').system('true')"),
    b"\x93NUMPY\x02\x00" + npy(np.zeros(1))[8:],
    b"not an array",
    b"",
    pickle.dumps([1]),
]


@pytest.mark.parametrize("data", NPY, ids=lambda d: f"{d[10:70]!r}")
def test_hostile_arrays(path, data):
    forge(path, files=[("0.npy", data)], model=toy({"alpha": {"!array": 0}}))
    refused(path, "damaged")


def test_pickles_in_arrays_do_not_run(path, tmp_path):
    flag = tmp_path / "ran"
    array = np.empty(1, dtype=object)
    array[0] = Payload(flag)
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    forge(path, files=[("0.npy", out.getvalue())], model=toy({"alpha": {"!array": 0}}))
    refused(path, "not a plain numeric")
    path.write_bytes(pickle.dumps(Payload(flag)))
    refused(path, "pickle")
    assert not flag.exists()
    pickle.loads(path.read_bytes())
    assert flag.exists()  # the payload is a real one


def test_hostile_lengths(path):
    text = npy(np.frombuffer(b"abc", dtype=np.uint8))
    for lengths in ([1, 1], [2**64 - 1, 4], [4], [[3]]):
        members = [("0.npy", text), ("1.npy", npy(np.array(lengths, dtype=np.uint64)))]
        forge(path, files=members, model=toy({"alpha": {"!strings": [0, 1]}}))
        refused(path, "damaged")


def test_each_array_is_used_once(path):
    members = [("0.npy", npy(np.zeros(3)))]
    forge(path, files=members, model=toy({"alpha": [{"!array": 0}, {"!array": 0}]}))
    refused(path, "used twice")
    forge(path, files=members)
    refused(path, "nothing refers to")


def test_hostile_zips(path):
    good = [("0.npy", npy(np.zeros(3)))]
    tree = toy({"alpha": {"!array": 0}})
    for name in ("../evil.npy", "/etc/evil.npy", "00.npy", "a.pkl", "x/0.npy", "manifest.json/"):
        forge(path, files=good, more=[(name, b"x")], model=tree)
        refused(path, "foreign member")
    forge(path, files=good, more=good, model=tree)
    refused(path, "two members of the same name")
    forge(path, files=good, more=[("1.npy", b"x")], model=tree)
    refused(path, "not those of its manifest")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name in ("manifest.json", "manifest.sha256"):
            archive.writestr(name, b"{}")
    refused(path, "unknown way")


def test_size_limits(path):
    model = Toy()
    model.zeros_ = np.zeros(1_000_000)
    save(model, path)
    refused(path, "more than max_bytes=1000000", max_bytes=1_000_000)
    assert load(path, max_bytes=9_000_000).zeros_.size == 1_000_000


def test_limits_of_archives(path):
    arrays = [np.zeros(1_000_000)]

    def write(limits):
        _archive.write(str(path), {}, arrays, limits)

    def read(limits=_archive.LIMITS):
        with _archive.read(str(path), 1 << 30, limits) as archive:
            return archive.array(0)

    write(_archive.LIMITS)
    assert path.stat().st_size < 100_000
    tight = _archive.Limits(free=1_000_000)
    with pytest.raises(ModelFileError, match="compression bomb"):
        read(tight)
    for limits in (tight, _archive.Limits(deflated=1_000_000)):
        write(limits)  # stored uncompressed
        assert path.stat().st_size > 8_000_000
        assert read(limits).size == read().size == 1_000_000
    few = _archive.Limits(members=2)
    with pytest.raises(ModelFileError, match="more than 2 members"):
        read(few)
    with pytest.raises(InputError, match="1 arrays; at most 0"):
        write(few)
    with pytest.raises(InputError, match="the manifest would take"):
        write(_archive.Limits(manifest=10))
    with pytest.raises(ModelFileError, match="the manifest is larger than 10 bytes"):
        read(_archive.Limits(manifest=10))


def test_many_values_in_little_space(path):
    members = [("0.npy", npy(np.zeros(0, np.uint8))), ("1.npy", npy(np.zeros(3_000_000, np.uint8)))]
    forge(path, files=members, model=toy({"alpha": {"!strings": [0, 1]}}))
    refused(path, "more values than max_bytes allows", max_bytes=100_000_000)


def test_declared_sizes_are_not_believed(path):
    forge(path, files=[("0.npy", npy(np.zeros(1000)))], model=toy({"alpha": {"!array": 0}}))
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\1\2")
    tracemalloc.start()
    for at in (20, 24):
        bad = bytearray(data)
        bad[place + at : place + at + 4] = (1 << 30).to_bytes(4, "little")
        path.write_bytes(bad)
        refused(path, "declares a size of")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_weights_must_fit_the_space(model, path):
    model.coef_ = model.coef_[:-1]
    save(model, path)
    refused(path, "coef_ has .* entries along an axis of")
    coef = Toy(model.structure).fit(X, Y).coef_
    bad = [coef.astype(str), coef.astype(np.float32), coef.tolist(), "weights", coef[:, None]]
    for value in (np.nan, np.inf):
        bad.append(coef.copy())
        bad[-1][1] = value
    for model.coef_ in bad:
        save(model, path)
        refused(path, "coef_ (is|has)")


def test_errors_of_spaces_are_errors_of_the_file(path):
    chain = toy({"order": 0}, name="structures.Chain")
    state = {"labels": ["a"], "attributes": [], "allowed": [[True]]}
    forge(path, model=toy(space={"!space": [chain, state]}))
    refused(path)
    chain = toy({"order": 40}, name="structures.Chain")
    state = {"labels": ["a", "b", "c"], "attributes": [], "allowed": [[True] * 3] * 3}
    forge(path, model=toy(space={"!space": [chain, state]}))
    refused(path, "do not fit together")


@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_are_refused_or_harmless(path, seed):
    rng = random.Random(seed)
    labels = ["D", "N", "V"]
    model = make_pipeline(TokenWindow(), Toy(Chain(order=1 + seed % 2, labels=labels))).fit(X, Y)
    model[-1].names_ = [f"w{i}" for i in range(300)]
    save(model, path)
    good = path.read_bytes()
    n_refused = 0
    for trial in range(250):
        bad = bytearray(good)
        kind = trial % 5
        if kind < 3:
            for _ in range(1 if kind < 2 else rng.randrange(2, 9)):
                bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        elif kind == 3:
            del bad[rng.randrange(len(bad)) :]
        else:
            at = rng.randrange(len(bad))
            bad[at : at + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
        path.write_bytes(bad)
        try:
            back = load(path)
        except ModelFileError:
            n_refused += 1
        else:
            assert equal_models(model, back)
            assert back[-1].names_ == model[-1].names_
    assert n_refused > 150


def test_every_byte_of_the_directory_and_headers(path):
    model = Toy(alpha=(1, 2.5))
    model.coef_ = np.arange(3.0)
    save(model, path)
    good = path.read_bytes()
    for at in range(len(good)):
        for value in (good[at] ^ 0xFF, good[at] ^ 1):
            path.write_bytes(good[:at] + bytes([value]) + good[at + 1 :])
            with contextlib.suppress(ModelFileError):
                assert equal_models(model, load(path))
    for at in range(len(good)):
        path.write_bytes(good[:at])
        refused(path)


def mutated(tree, rng):
    """A tree with one value replaced."""
    odd = [None, True, -1, 3, 2.5, "", "x", [], {}, [[1]], {"!array": 0}, {"!same": 0}, {"!tuple": [1]}]
    if not isinstance(tree, (dict, list)) or not tree or rng.random() < 0.1:
        return rng.choice(odd)
    if isinstance(tree, list):
        at = rng.randrange(len(tree))
        return [mutated(v, rng) if i == at else v for i, v in enumerate(tree)]
    chosen = rng.choice(list(tree))
    return {k: mutated(v, rng) if k == chosen else v for k, v in tree.items()}


def test_altered_trees_with_valid_checksums(path):
    rng = random.Random(0)
    model = make_pipeline(TokenWindow(), Toy(Chain(emissions="observed"), loss=ToyLoss())).fit(X, Y)
    save(model, path)
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        files = [(n, archive.read(n)) for n in archive.namelist() if n.endswith(".npy")]
    for trial in range(300):
        part = "model" if trial % 4 else rng.choice(list(manifest))
        forge(path, {**manifest, part: mutated(manifest[part], rng)}, files)
        with contextlib.suppress(ModelFileError, InputError if part == "given" else ModelFileError):
            load(path)


def test_large_files_use_zip64(model, path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    save(model, path)
    assert b"PK\6\6" in path.read_bytes()
    assert equal_models(model, load(path))
    good = path.read_bytes()
    for at in range(len(good) - 98, len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        with contextlib.suppress(ModelFileError):
            assert equal_models(model, load(path))


def test_public_names():
    import trelliswork as tw

    assert tw.save is save
    assert tw.load is load
    assert issubclass(tw.ModelFileError, ValueError)
    assert issubclass(Own, Structure)
