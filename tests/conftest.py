"""Compiles once before a whole run; at its end, a table of the learners and structures with laws checked.

What is in the list ``LONG`` has the mark "long": ``make tests`` leaves it to ``make test-long``, and says so.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numba
import pytest
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent

# No laws and no units: clusters, processes that are killed, commands and imports in processes of their own,
# and a server under attack.
LONG = (
    "cli/test_fold_stream.py",
    "cli/test_process.py",
    "dask",
    "faults",
    "test_extending.py",
    "test_jit.py",
    "test_parameters.py",
    "web/test_hostile.py",
)

# Processes that tests start find bytecode, as those of users do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests make little garbage that is not freed at once, and to look for it among all modules takes time.
gc.set_threshold(50_000, 20, 50)


def pytest_sessionstart(session):
    """Compile once: on an empty cache, workers that start together would all compile the same recursions."""
    config = session.config
    whole = config.args_source is config.ArgsSource.TESTPATHS
    if numba.config.DISABLE_JIT or not whole or not config.getoption("numprocesses", None):
        return  # workers have no numprocesses of their own
    from trelliswork.cli._warmup import warm_up
    from trelliswork.dp import rows

    if not any(Path(rows.times.stats.cache_path).glob("*.nbi")):
        warm_up()


def pytest_collection_finish(session):
    """Leave what stays for the whole run out of the search for garbage; give each worker one thread of BLAS.

    Workers are as many as cores, so that more threads than these only wait for each other.
    """
    threadpool_limits(1, user_api="blas")
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before items are chosen by their marks
def pytest_collection_modifyitems(items):
    """Laws and solvers are tried on so little data, and with so few steps, that many a model is of no use."""
    long = {HERE / place for place in LONG}
    learning = {HERE / "laws", HERE / "learners"}
    places = {path: {path, *path.parents} for path in {item.path for item in items}}
    for item in items:
        if long & places[item.path]:
            item.add_marker(pytest.mark.long)
        if numba.config.DISABLE_JIT:  # NumPy's numbers warn where compiled code goes on with infinity
            item.add_marker(pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"))
            if item.get_closest_marker("compiled"):
                item.add_marker(pytest.mark.skip(reason="takes minutes as plain Python"))
        if learning & places[item.path]:
            item.add_marker(pytest.mark.filterwarnings("ignore::trelliswork.FitWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"))


def pytest_terminal_summary(terminalreporter, config):
    if config.option.markexpr == "not long":
        terminalreporter.write_line(f"left to `make test-long`: tests/{', tests/'.join(LONG)}")
    table, skipped = {}, {}
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "checked":
                learner, structure, laws, passed_over = value
                checked, total = table.get((learner, structure), (0, 0))
                table[learner, structure] = checked + len(laws), total + len(laws) + len(passed_over)
                for line in passed_over:
                    law, _, reason = line.partition(": ")
                    laws_of, places = skipped.setdefault(reason, (set(), set()))
                    laws_of.add(law)
                    places.add(structure)
    if not table:
        return
    learners, structures = (sorted({pair[k] for pair in table}) for k in (0, 1))
    terminalreporter.section("laws of learners that were checked, of those that there are")
    width = max(map(len, learners))
    terminalreporter.write_line(" " * width + "".join(f"{s:>14}" for s in structures))
    for learner in learners:
        cells = [table.get((learner, s)) for s in structures]
        shown = ["-" if cell is None else f"{cell[0]}/{cell[1]}" for cell in cells]
        terminalreporter.write_line(f"{learner:<{width}}" + "".join(f"{cell:>14}" for cell in shown))
    for reason, (laws_of, places) in sorted(skipped.items()):
        where = "all" if places == set(structures) else ", ".join(sorted(places))
        terminalreporter.write_line(f"skipped on {where}: {', '.join(sorted(laws_of))} ({reason})")
