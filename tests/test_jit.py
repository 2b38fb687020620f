"""What is said while code is compiled, and how often it is."""

import gc
import importlib
import subprocess
import sys
import time
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core import event

from trelliswork import _code_cache, _jit


def recursion(cached=()):
    """What an event of Numba has as its dispatcher, with keys in its cache."""
    target = SimpleNamespace(codegen=lambda: SimpleNamespace(magic_tuple=lambda: "this"))
    file = SimpleNamespace(_load_index=lambda: dict.fromkeys(cached))
    return SimpleNamespace(__name__="viterbi", targetctx=target, _cache=SimpleNamespace(_cache_file=file))


@pytest.mark.parametrize("cached", [(), [("types", "this", "code")], [("types", "another", "code")]])
@pytest.mark.parametrize("terminal", [True, False])
def test_compiling_is_told_once(terminal, cached, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    compiling, event = _jit._Compiling(patience=0.01), SimpleNamespace(data={"dispatcher": recursion(cached)})
    for _ in range(2):
        compiling.on_start(event)
        compiling.on_start(event)  # what the first one calls
        assert not gc.isenabled()
        time.sleep(0.05)
        compiling.on_end(event)
        assert not gc.isenabled()
        compiling.on_end(event)
        assert gc.isenabled()
    said = capsys.readouterr().err
    assert said.count("compiling, once: viterbi and others") == terminal
    assert said.count("another processor") == (terminal and "another" in str(cached))


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_compiling_of_numba_is_told(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    @numba.njit
    def half(x):
        return x / 2.0

    compiling = _jit._Compiling(patience=0.0)
    event.register("numba:compile", compiling)
    try:
        assert half(3.0) == 1.5
        assert half(3) == 1.5  # compiled once more, for another type
    finally:
        event.unregister("numba:compile", compiling)
    assert capsys.readouterr().err == (
        "compiling, once: half and others; later runs find them in the cache\n"
    )


def test_a_recursion_without_a_cache_is_not_from_elsewhere():
    assert not _jit.compiled_elsewhere(SimpleNamespace())


@_jit.njit
def _plus(values, n):
    return values[0] + n


@_jit.njit
def total(values):
    return _plus(values, 1) + _plus(values, 2) + _plus(values, values.size)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_literal_numbers_are_numbers():
    assert total(np.array([1.0, 2.0])) == 8.0
    assert len(_plus.signatures) <= 1  # none if the cache had the caller


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("spelled", ["pack.below", ".below"])
def test_a_change_in_another_file_is_compiled_in(spelled, tmp_path, monkeypatch):
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "above.py").write_text(
        f"from trelliswork._jit import njit\nfrom {spelled} import FACTOR, half\n\n"
        "@njit\ndef scaled(x):\n    return FACTOR * half(x)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def answer(factor, divisor):
        (folder / "below.py").write_text(
            f"from trelliswork._jit import njit\n\nFACTOR = {factor}\n\n"
            f"@njit\ndef half(x):\n    return x / {divisor}\n"
        )
        for name in ("pack", "pack.above", "pack.below"):
            sys.modules.pop(name, None)
        _code_cache._imported.cache_clear()
        importlib.invalidate_caches()
        recursion = importlib.import_module("pack.above").scaled
        return recursion(8.0), sum(recursion.stats.cache_hits.values())

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert answer(3.0, 2.0) == (12.0, 0)
    assert answer(3.0, 2.0) == (12.0, 1)
    assert answer(5.0, 2.0) == (20.0, 0)
    assert answer(5.0, 4.0) == (10.0, 0)
    for name in ("pack", "pack.above", "pack.below"):
        sys.modules.pop(name, None)


_LOAD_ALL = """
import importlib, pkgutil
import numba
import trelliswork.dp, trelliswork.accelerated
n = 0
for package in (trelliswork.dp, trelliswork.accelerated):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, numba.core.dispatcher.Dispatcher) and hasattr(value._cache, "_cache_file"):
                here = value.targetctx.codegen().magic_tuple()
                for types, processor, _ in list(value._cache._cache_file._load_index()):
                    if processor == here:
                        n += value._cache.load_overload(types, value.targetctx) is not None
print(n)
"""


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_compiled_code_needs_nothing_of_the_compiler():
    """All that the cache has is loaded in a process that compiles nothing: a missing symbol would end it."""
    found = subprocess.run([sys.executable, "-c", _LOAD_ALL], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip().isdigit()
