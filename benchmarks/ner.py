"""Named entities, CoNLL-2002 Spanish, tutorial features: ours against python-crfsuite.

Both sides train the same objective on the same 96,117 features (attribute-label pairs seen
in training, all transitions). CRFsuite is given lists of strings, as its users do; ours is
given raw tokens and :class:`TokenWindow`. Times are wall seconds, the least of several runs.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks._measure import Peak, arguments, best, in_fresh_process, resident, write_results

C1 = C2 = 0.1
ITERATIONS = 100
EPOCHS = 50


def read(folder: str, part: str) -> Any:
    from trelliswork.io import read_conll

    return read_conll(os.path.join(folder, "conll2002-es", f"esp.{part}.gz"))


# -- the tutorial's features, as its users write them ---------------------------------------


def word_features(sentence: list[tuple[str, str]], i: int) -> dict[str, Any]:
    word, pos = sentence[i]
    features: dict[str, Any] = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": pos,
        "postag[:2]": pos[:2],
    }
    for offset, mark, border in ((-1, "-1:", "BOS"), (1, "+1:", "EOS")):
        if 0 <= i + offset < len(sentence):
            near, near_pos = sentence[i + offset]
            features[mark + "word.lower()"] = near.lower()
            features[mark + "word.istitle()"] = near.istitle()
            features[mark + "word.isupper()"] = near.isupper()
            features[mark + "postag"] = near_pos
            features[mark + "postag[:2]"] = near_pos[:2]
        else:
            features[border] = True
    return features


def as_strings(features: dict[str, Any]) -> list[str]:
    out = []
    for key, value in features.items():
        if isinstance(value, str):
            out.append(f"{key}:{value}")
        elif value:
            out.append(key)
    return out


def string_features(X: list[Any]) -> list[list[list[str]]]:
    return [[as_strings(word_features(s, i)) for i in range(len(s))] for s in X]


def quality(y_true: Any, y_pred: Any) -> dict[str, float]:
    from trelliswork.metrics import entity_f1, token_error

    return {"f1": 100 * entity_f1(y_true, y_pred), "error": 100 * token_error(y_true, y_pred)}


# -- workers: each runs in a fresh process ------------------------------------------------


def work_crfsuite(args: Any, algorithm: str = "lbfgs") -> dict[str, Any]:
    import pycrfsuite

    train, test = read(args.data, "train"), read(args.data, "testb")
    raw = resident()
    params: dict[str, Any] = {"max_iterations": EPOCHS if algorithm == "ap" else ITERATIONS}
    params["feature.possible_transitions"] = True
    if algorithm == "lbfgs":
        params |= {"c1": C1, "c2": C2}
    path = os.path.join(tempfile.mkdtemp(), "model")
    fit, loss = float("inf"), float("nan")
    with Peak() as peak:
        features = string_features(train.X)
        started = time.perf_counter()
        trainer = pycrfsuite.Trainer(algorithm, params, verbose=False)
        for x, y in zip(features, train.y, strict=True):
            trainer.append(x, y)
        load = time.perf_counter() - started
        for _ in range(args.repeat):
            started = time.perf_counter()
            trainer.train(path)
            fit = min(fit, time.perf_counter() - started)
    last = trainer.logparser.last_iteration or {}
    loss = last.get("loss", float("nan"))
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    prepared = string_features(test.X)
    seconds, predicted = best(lambda: [tagger.tag(x) for x in prepared], args.repeat)
    n_tokens = sum(map(len, test.y))
    out = {
        "fit": fit,
        "load": load,
        "objective": loss,
        "tok_s": n_tokens / seconds,
        "memory": peak.value - raw,
    }
    return out | quality(test.y, predicted)


def work_sklearn_crfsuite(args: Any) -> dict[str, Any]:
    """From raw sentences to tags with the usual pipeline."""
    import sklearn_crfsuite

    train, test = read(args.data, "train"), read(args.data, "testb")
    crf = sklearn_crfsuite.CRF(c1=C1, c2=C2, max_iterations=ITERATIONS, all_possible_transitions=True)
    crf.fit([[word_features(s, i) for i in range(len(s))] for s in train.X], train.y)

    def pipeline() -> Any:
        return crf.predict([[word_features(s, i) for i in range(len(s))] for s in test.X])

    seconds, predicted = best(pipeline, args.repeat)
    return {"tok_s": sum(map(len, test.y)) / seconds} | quality(test.y, predicted)


def work_ours(args: Any, n_jobs: int) -> dict[str, Any]:
    from sklearn.pipeline import make_pipeline

    from trelliswork import CRF, Chain
    from trelliswork.features import TokenWindow

    train, test = read(args.data, "train"), read(args.data, "testb")
    window = TokenWindow.tutorial(false_flags=False)
    chain = Chain(emissions="observed", start=False, end=False, unknown=False)
    crf = CRF(chain, C1, C2, max_iter=ITERATIONS, tol=0.0, n_jobs=n_jobs)
    tiny = window.transform(train.X[:50])
    CRF(chain, C1, C2, max_iter=3, n_jobs=n_jobs).fit(tiny, train.y[:50]).predict(tiny)  # loads compiled code
    raw = resident()
    with Peak() as peak:
        started = time.perf_counter()
        X = window.transform(train.X)
        load = time.perf_counter() - started
        seconds, history = float("inf"), []
        for _ in range(args.repeat):
            started = time.perf_counter()
            crf.fit(X, train.y)
            taken = time.perf_counter() - started
            if taken < seconds:
                seconds = taken
                setup = taken - crf.history_[-1]["seconds"]
                history = [(h["objective"], setup + h["seconds"]) for h in crf.history_]
    prepared = window.transform(test.X)
    tag, predicted = best(lambda: crf.predict(prepared), 3 * args.repeat)
    fresh = [window.transform(test.X) for _ in range(3 * args.repeat)]  # names not yet looked up
    first = min(best(lambda table=table: crf.predict(table), 1)[0] for table in fresh)
    pipe = make_pipeline(window, crf)
    whole, _ = best(lambda: pipe.predict(test.X), 3 * args.repeat)
    n_tokens = sum(map(len, test.y))
    return {
        "fit": seconds,
        "load": load,
        "objective": crf.objective_,
        "history": history,
        "memory": peak.value - raw,
        "tok_s": n_tokens / tag,
        "first_tok_s": n_tokens / first,
        "raw_tok_s": n_tokens / whole,
        "n_features": crf.space_.n_features,
    } | quality(test.y, predicted)


def work_ours_perceptron(args: Any) -> dict[str, Any]:
    from trelliswork import Chain, Perceptron
    from trelliswork.features import TokenWindow

    train, test = read(args.data, "train"), read(args.data, "testb")
    window = TokenWindow.tutorial(false_flags=False)
    chain = Chain(emissions="observed", start=False, end=False, unknown=False)
    model = Perceptron(chain, max_iter=EPOCHS)
    tiny = window.transform(train.X[:50])
    Perceptron(chain, max_iter=2).fit(tiny, train.y[:50])
    X = window.transform(train.X)
    seconds, _ = best(lambda: model.fit(X, train.y), args.repeat)
    return {"fit": seconds, "epochs": model.n_iter_} | quality(
        test.y, model.predict(window.transform(test.X))
    )


def work_growth(args: Any) -> dict[str, Any]:
    """Time per iteration and memory from 1,000 sentences to ten times the training set."""
    from trelliswork import CRF, Chain
    from trelliswork.features import TokenWindow

    train = read(args.data, "train")
    window = TokenWindow.tutorial(false_flags=False)
    chain = Chain(emissions="observed", start=False, end=False, unknown=False)
    tiny = window.transform(train.X[:50])
    CRF(chain, C1, C2, max_iter=3).fit(tiny, train.y[:50])
    rows = []
    for n, times in ((1000, 1), (2000, 1), (4000, 1), (8323, 1), (8323, 10)):
        X, y = train.X[:n] * times, train.y[:n] * times
        raw = resident()
        with Peak() as peak:
            packed = window.transform(X)
            started = time.perf_counter()
            crf = CRF(chain, C1, C2, max_iter=10, tol=0.0).fit(packed, y)
            taken = time.perf_counter() - started
        steps = [h["seconds"] for h in crf.history_]
        each = min(b - a for a, b in itertools.pairwise(steps))
        rows.append((len(X), sum(map(len, y)), each, taken, peak.value - raw))
        del packed, crf
    return {"rows": rows}


WORKERS = {
    "crfsuite": work_crfsuite,
    "crfsuite-ap": lambda args: work_crfsuite(args, "ap"),
    "sklearn-crfsuite": work_sklearn_crfsuite,
    "ours-1": lambda args: work_ours(args, 1),
    "ours-2": lambda args: work_ours(args, 2),
    "ours-ap": work_ours_perceptron,
    "growth": work_growth,
}


def main() -> int:
    args = arguments(__doc__ or "")
    if args.worker:
        print(json.dumps(WORKERS[args.worker](args)))
        return 0
    results = {}
    for name in WORKERS:
        print(f"running {name} ...", file=sys.stderr)
        results[name] = in_fresh_process("ner", name, args)
    write_results("ner", f"python -m benchmarks ner --repeat {args.repeat}", table(results))
    return 0


def until(history: list[tuple[float, float]], objective: float) -> float:
    """Seconds until an objective was reached."""
    return next((s for value, s in history if value <= objective), float("nan"))


def table(r: dict[str, Any]) -> str:
    peer = r["crfsuite"]
    lines = [
        "| | CRFsuite | ours, 1 thread | ours, 2 threads |",
        "| --- | --- | --- | --- |",
        f"| final objective after {ITERATIONS} iterations | {peer['objective']:.1f} | "
        + " | ".join(f"{r[k]['objective']:.1f}" for k in ("ours-1", "ours-2"))
        + " |",
        f"| features read and prepared, s | {peer['load']:.2f} (strings ready-made) | "
        + " | ".join(f"{r[k]['load']:.2f} (from raw tokens)" for k in ("ours-1", "ours-2"))
        + " |",
        f"| training, {ITERATIONS} iterations, s | {peer['fit']:.2f} | "
        + " | ".join(f"{r[k]['fit']:.2f}" for k in ("ours-1", "ours-2"))
        + " |",
    ]
    reach = {k: until(r[k]["history"], peer["objective"]) for k in ("ours-1", "ours-2")}
    lines += [
        f"| training to CRFsuite's final objective, s | {peer['fit']:.2f} | "
        + " | ".join(f"{reach[k]:.2f}" for k in reach)
        + " |",
        "| **ratio** | 1 | " + " | ".join(f"**{peer['fit'] / reach[k]:.1f}x**" for k in reach) + " |",
        "| entity F1, testb | "
        + " | ".join(f"{r[k]['f1']:.2f}" for k in ("crfsuite", "ours-1", "ours-2"))
        + " |",
        "| token error %, testb | "
        + " | ".join(f"{r[k]['error']:.3f}" for k in ("crfsuite", "ours-1", "ours-2"))
        + " |",
        "| peak memory above the raw text, MB | "
        + " | ".join(f"{r[k]['memory']:.0f}" for k in ("crfsuite", "ours-1", "ours-2"))
        + " |",
        "| tagging prepared features, tokens/s | "
        + " | ".join(f"{r[k]['tok_s']:,.0f}" for k in ("crfsuite", "ours-1", "ours-2"))
        + " |",
        "| **ratio** | 1 | "
        + " | ".join(f"**{r[k]['tok_s'] / peer['tok_s']:.1f}x**" for k in ("ours-1", "ours-2"))
        + " |",
        f"| the same, feature names looked up anew, tokens/s | {peer['tok_s']:,.0f} | "
        + " | ".join(f"{r[k]['first_tok_s']:,.0f}" for k in ("ours-1", "ours-2"))
        + " |",
        "| **ratio** | 1 | "
        + " | ".join(f"**{r[k]['first_tok_s'] / peer['tok_s']:.1f}x**" for k in ("ours-1", "ours-2"))
        + " |",
        f"| raw sentences to tags, tokens/s | {r['sklearn-crfsuite']['tok_s']:,.0f} (sklearn-crfsuite) | "
        + " | ".join(f"{r[k]['raw_tok_s']:,.0f}" for k in ("ours-1", "ours-2"))
        + " |",
        "| **ratio** | 1 | "
        + " | ".join(
            f"**{r[k]['raw_tok_s'] / r['sklearn-crfsuite']['tok_s']:.1f}x**" for k in ("ours-1", "ours-2")
        )
        + " |",
        "",
        f"Averaged perceptron, {EPOCHS} epochs: CRFsuite {r['crfsuite-ap']['fit']:.2f} s, "
        f"F1 {r['crfsuite-ap']['f1']:.2f}; ours {r['ours-ap']['fit']:.2f} s, F1 {r['ours-ap']['f1']:.2f}; "
        f"**ratio {r['crfsuite-ap']['fit'] / r['ours-ap']['fit']:.1f}x**.",
        "",
        "Growth, one thread (the last row repeats the training set ten times):",
        "",
        "| sentences | tokens | s per iteration | s for 10 with set-up | peak MB above the raw text |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [f"| {n:,} | {t:,} | {e:.3f} | {s:.2f} | {m:.0f} |" for n, t, e, s, m in r["growth"]["rows"]]
    return "\n".join(lines)


if __name__ == "__main__":
    np.seterr(all="warn")
    raise SystemExit(main())
