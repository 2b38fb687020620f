"""What holds for the package as a whole."""

import importlib
import inspect
import subprocess
import sys

import pytest

import trelliswork


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("module", ["trelliswork", "trelliswork.metrics"])
def test_import_is_light(module):
    out = python(
        f"import sys, {module}\nprint([m for m in ('numba', 'sklearn', 'scipy') if m in sys.modules])"
    )
    assert out.strip() == "[]"


@pytest.mark.parametrize("module", ["", ".features", ".io", ".kernels", ".losses", ".metrics", ".testing"])
def test_every_public_name_has_an_example(module):
    module = importlib.import_module(f"trelliswork{module}")
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    for name in names:
        value = getattr(module, name)
        ours = getattr(value, "__module__", "").startswith("trelliswork")
        if ours and (inspect.isclass(value) or inspect.isfunction(value)):
            assert ">>>" in (value.__doc__ or ""), name


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        trelliswork.nothing  # noqa: B018


def test_read_only_installation_compiles_without_a_cache(monkeypatch):
    import numba

    from trelliswork._jit import njit

    original = numba.njit

    def refuse(*args, **kwargs):
        if kwargs.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return original(*args, **kwargs)

    monkeypatch.setattr(numba, "njit", refuse)

    @njit
    def double(x):
        return 2 * x

    assert double(21) == 42
