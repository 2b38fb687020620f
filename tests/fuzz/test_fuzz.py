"""Some hundred attacks, always the same ones, and every case that once found something."""

import pytest
from tests.fuzz.cases import KEPT
from tests.fuzz.driver import run

CASES = {"models": 150, "weights": 100, "calls": 200, "inputs": 440, "functions": 300}


@pytest.mark.parametrize("attack", CASES)
def test_attack(attack, tmp_path):
    counts, findings = run(attack, tmp_path, [*KEPT[attack], f"11:0:{CASES[attack]}"])
    assert not findings
    assert sum(counts.values()) == len(KEPT[attack]) + CASES[attack]
    assert counts["answered"] > CASES[attack] / 20  # not all of them are refused
