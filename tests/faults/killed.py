"""kill -9 while a model is saved, and while the command line writes its output."""

from __future__ import annotations

import itertools
import random

import numpy as np
from tests.faults.children import killed

import trelliswork as tw
from trelliswork._text import write_text


def main(folder):
    path, text = folder / "model.tw", folder / "out.txt"
    words = [[f"w{i}" for i in range(20_000)]]
    model = tw.CRF(tw.Chain(), max_iter=1).fit(words, [["A", "B"] * 10_000])
    noise = np.random.default_rng(0).normal(size=model.coef_.size)
    versions = [noise, -noise]
    texts = ["a" * 2_000_000, "b" * 2_000_000]

    def save_forever():
        for weights, some in itertools.cycle(zip(versions, texts, strict=True)):
            model.coef_ = weights
            tw.save(model, path)
            write_text(path.parent / "out.txt", some)

    model.coef_ = noise
    tw.save(model, path)
    write_text(text, texts[0])
    delay = random.Random(0)
    for _ in range(12):
        assert killed(save_forever, delay.uniform(0.01, 0.1)) == -9
        weights = tw.load(path).coef_
        assert any(np.array_equal(weights, version) for version in versions)
        assert text.read_text() in texts
