"""Starts the server of attacks, and collects what it finds."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(folder, cases, *, patience=60.0, said=None):
    """Try cases, given as in ``cases_of``; returns how many ended how, and the findings by case.

    ``said`` is called with every finding as it comes, and with what only the last line behind all checks
    caught, which is no finding.
    """
    counts, findings = {}, {}
    command = [sys.executable, "-m", "tests.fuzz.server", str(folder), str(patience), *cases]
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(
            command, text=True, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, errors="replace"
        ) as process:
            for line in process.stdout:
                word, _, rest = line.strip().partition(" ")
                if word == "counts":
                    counts = json.loads(rest)
                elif word in ("bad", "caught"):
                    case, _, text = rest.partition(" ")
                    if word == "bad":
                        findings[case] = text
                    if said is not None:
                        said(case, text if word == "bad" else f"(caught) {text}")
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(f"the server ended: {errors.read()[-2000:]}")
    return counts, findings
