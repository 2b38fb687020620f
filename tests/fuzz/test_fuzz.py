"""Some hundred attacks, always the same ones, and every case that once found something."""

from tests.fuzz.cases import KEPT
from tests.fuzz.driver import run

CASES = {"models": 150, "weights": 100, "calls": 200, "inputs": 440, "functions": 300}


def test_attacks(tmp_path):
    kept = [f"{kind}:{case}" for kind, cases in KEPT.items() for case in cases]
    counts, findings = run(tmp_path, [*kept, *(f"{kind}:11:0:{n}" for kind, n in CASES.items())])
    assert not findings
    for kind, n in CASES.items():
        answered, refused = counts[f"{kind} answered"], counts[f"{kind} refused"]
        assert answered + refused + counts[f"{kind} caught"] == len(KEPT[kind]) + n
        assert answered > n / 20  # not all of them are refused
