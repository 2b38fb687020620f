"""A process that gets everything ready once, and then forks children that try cases.

A child may die, hang or run out of memory; the next one goes on after the case that did it.
"""

from __future__ import annotations

import gc
import importlib
import json
import mmap
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np
from tests.fuzz.cases import cases_of

OUTCOMES = ("answered", "refused", "caught")
MANY = 3000  # cases of one child; also from how many on it pays to get compiled code ready first
MEMORY = 6 << 30
GROWTH = 1 << 20  # kB that one case may take
STILL = 10  # times the patience that a case may stand still, taking no processor time


def main():
    folder, patience, *cases = sys.argv[1:]
    cases = list(cases_of(cases))
    attacks = {}
    for kind in dict.fromkeys(case.split(":")[0] for case in cases):
        place = Path(folder, kind)
        place.mkdir(exist_ok=True)
        attacks[kind] = importlib.import_module(f"tests.fuzz.{kind}").Attack(place)
        if len(cases) >= MANY and hasattr(attacks[kind], "warm_up"):
            attacks[kind].warm_up()
    gc.collect()
    gc.freeze()  # children look at no object of the parent's
    print("ready", flush=True)
    tallies = [f"{kind} {outcome}" for kind in attacks for outcome in OUTCOMES]
    board = np.frombuffer(mmap.mmap(-1, 8 * (1 + len(tallies))), dtype=np.int64)  # shared with children
    place, alone = 0, False
    while place < len(cases):
        board[0] = place
        size = 1 if alone else MANY
        child = os.fork()
        if child == 0:
            try_cases(attacks, cases[place : place + size], place, board, tallies)
        word = watched(child, board, float(patience))
        if word is None:
            place, alone = place + size, False
        elif isinstance(word, Hang) and not alone:  # once more: perhaps the machine stood still
            place, alone = int(board[0]), True
        else:
            place, alone = int(board[0]) + 1, False
            if word:
                print("bad", cases[place - 1], word, flush=True)
    print("counts", json.dumps(dict(zip(tallies, board[1:].tolist(), strict=True))), flush=True)


def try_cases(attacks, cases, place, board, tallies):
    """Try some cases, in a child that ends here."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i, case in enumerate(cases, place):
        board[0] = i
        kind, seed, number = case.split(":")
        try:
            outcome = attacks[kind].case(int(number), int(seed))
            board[1 + tallies.index(f"{kind} {outcome}")] += 1
            if outcome == "caught":
                print("caught", case, described(outcome.error.__cause__), flush=True)
        except BaseException as error:
            print("bad", case, described(error), flush=True)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if after - before > GROWTH:
            print("bad", case, f"takes {(after - before) >> 10} MB", flush=True)
            os._exit(3)  # the next child begins with little again
        before = max(before, after)
    os._exit(0)


def described(error):
    """An exception and where it was raised, in one line."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{where.filename.rpartition('trelliswork/')[2]}:{where.lineno}"
    return " ".join(f"{type(error).__name__}: {error}".split())[:300] + f" at {place}"


class Hang(str):
    """What is said of a case that does not end."""


def watched(child, board, patience):
    """None when a child has come to its end, else what became of it ("" if it has said so itself).

    A case hangs when it has taken ``patience`` seconds of the processor, however long these took on a
    machine that is busy, or when it has stood still for several times as long.
    """
    current, since, used = int(board[0]), time.monotonic(), 0.0
    pause = 0.001
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
        if board[0] != current:
            current, since, used = int(board[0]), time.monotonic(), processor_seconds(child)
        elif time.monotonic() - since > patience:
            taken = processor_seconds(child) - used
            if taken > patience or time.monotonic() - since > STILL * (patience + taken):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return Hang(f"no answer in {patience:.0f} s")
    if os.WIFSIGNALED(status):
        return f"the process died: {signal.Signals(os.WTERMSIG(status)).name}"
    code = os.WEXITSTATUS(status)
    return None if code == 0 else "" if code == 3 else f"the process ended with code {code}"


def processor_seconds(child):
    """Processor time that a process has taken, as the kernel tells it."""
    try:
        fields = Path(f"/proc/{child}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:  # it has ended, or there is no such folder
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
