"""The search: paths from strong to weak on the first split, then the settings that are left on the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from trelliswork._signature import signature
from trelliswork._threads import n_threads
from trelliswork.learners.optimize.progress import Progress
from trelliswork.selection.measures import Measure
from trelliswork.selection.plan import Plan, Walk
from trelliswork.selection.trials import Settings, Split, Trial

__all__ = ["Search"]

_BEYOND = 6  # values by which a path may be extended on either side
_CLEARLY = 2  # values in a row that must be clearly worse for a path to end
_WORSE = 2  # weaker values in a row than the learner's own that are worse at all: they take the longest


class Search:
    """Tries settings.

    All paths are walked on the first split, where settings that are surely behind the best leave the race;
    the other splits see what is left. What is tried does not depend on the number of threads.

    Parameters
    ----------
    splits : list of Split
        Training and held-out samples.
    plan : Plan
        What is tried.
    own : mapping of str to object
        Parameters of the learner.
    measure : Measure
        How good predictions are.
    limit : float or None
        Standard errors behind the best at which settings leave; None keeps all.
    lenient : bool
        Whether settings within one standard error of the best stay, too.
    budget : float or None
        Seconds.
    n_jobs : int or None
        Splits at a time.
    progress : Progress
        Gets one record per fit.
    """

    def __init__(
        self,
        splits: list[Split],
        plan: Plan,
        own: Mapping[str, Any],
        measure: Measure,
        *,
        limit: float | None,
        lenient: bool,
        budget: float | None,
        n_jobs: int | None,
        progress: Progress,
    ):
        self.splits, self.plan, self.own, self.measure = splits, plan, own, measure
        self.limit, self.lenient, self.budget = limit, lenient, budget
        self.n_jobs, self.progress = n_jobs, progress
        self.trials: list[Trial] = []
        self.left: list[Trial] = []
        self.ended: str | None = None  # None, "budget" or "interrupted"
        self._known: dict[str, Trial] = {}
        self._n_paths = 0
        self._lock = threading.Lock()
        self._halted = threading.Event()
        self._deadline = np.inf if budget is None else time.perf_counter() + budget

    def _over(self) -> bool:
        self.progress.tick()
        return self._halted.is_set() or time.perf_counter() > self._deadline

    # -- from outside ----------------------------------------------------------------------

    def run(self) -> None:
        """Try everything that is planned, or as much as time allows."""
        try:
            self._explore()
            self._check_time()
            self.left = self._still_racing()
            self._confirm()
        except KeyboardInterrupt:
            self._halted.set()
            self.ended = "budget" if time.perf_counter() > self._deadline else "interrupted"
            self.left = [trial for trial in self.left or self.trials if trial.judged is not None]
            self._drop_unfinished_splits()
        self.left = [trial for trial in self.left if trial.judged is not None]

    def best(self, one_standard_error: bool) -> Trial | None:
        """The best settings of those that all splits have seen; None if there are none.

        Parameters
        ----------
        one_standard_error : bool
            Whether to take the strongest regularisation on the same path that is within one standard
            error of the best.
        """
        if not self.left:
            return None
        best = max(self.left, key=self.score)  # of equals the first
        judged = best.judged
        assert judged is not None
        if not one_standard_error or not np.isfinite(judged.standard_error):
            return best
        enough = self.score(best) - judged.standard_error
        near = [t for t in self.left if t.path == best.path and self.score(t) >= enough]
        return min(near, key=lambda t: t.strength)

    def score(self, trial: Trial) -> float:
        """Score with a sign such that greater is better."""
        return trial.score(self.measure)

    # -- first split -----------------------------------------------------------------------

    def _explore(self) -> None:
        planned = sum(walk.n_values for walk in self.plan.walks) or 1
        others = sum(len(choice.values) for choice in self.plan.choices)
        self.progress.expect(planned * (1 + others) + (len(self.splits) - 1) * planned // 2)
        chosen = self.plan.start(self.own)
        if self.budget is not None and not chosen:
            self._try({}, 0, 0.0)  # whatever comes, the result is not worse than the learner's own settings
        self._walk(chosen)
        for choice in self.plan.choices:
            current = chosen.get(choice.name, self.own[choice.name])
            # By name, or as what "auto" stands for.
            taken = [signature(v) for v in (current, self.trials[0].resolved.get(choice.name, current))]
            for value in choice.values:
                if signature(value) in taken:
                    continue
                if choice.decoding:
                    best = max(self.trials, key=self.score)
                    self._try({**best.settings, choice.name: value}, best.path, best.strength)
                else:
                    self._walk({**chosen, choice.name: value})
            best = max(self.trials, key=self.score)
            if choice.name in best.settings:
                chosen[choice.name] = best.settings[choice.name]

    def _walk(self, chosen: Settings) -> None:
        """All paths with some choices made; each starts with the best values of the earlier ones."""
        if not self.plan.walks:
            self._n_paths += 1
            self._try(chosen, self._n_paths, 0.0)
        settings = chosen
        for walk in self.plan.walks:
            best = self._walk_one(walk, settings)
            settings = best.settings

    def _walk_one(self, walk: Walk, chosen: Settings) -> Trial:
        self._n_paths += 1
        along: dict[int, Trial] = {}
        if walk.asks_the_learner:
            middle = self._try(chosen, self._n_paths, float(walk.middle))
            walk = walk.around(middle.resolved.get(walk.path.name))

        def go(i: int) -> None:
            along[i] = self._try({**chosen, **walk.settings(i)}, self._n_paths, float(i))

        def best_place() -> int:
            return max(sorted(along), key=lambda i: self.score(along[i]))

        def better(i: int, j: int) -> bool:
            return self.score(along[i]) > self.score(along[j])

        for i in range(walk.n_values):
            go(i)
            if self._clearly_worse(list(along.values())):
                break
            if walk.values is None and i >= walk.middle + _WORSE and self._declining(along, i):
                break
        if walk.values is None and walk.n_values > 1:
            for direction in (1, -1):
                for _ in range(_BEYOND):
                    end = best_place()
                    if end + direction in along or not better(end, end - direction):
                        break
                    go(end + direction)
        return along[best_place()]

    def _clearly_worse(self, along: list[Trial]) -> bool:
        """Whether the last settings of a path are all surely behind its best."""
        if self.limit is None or len(along) <= _CLEARLY:
            return False
        best = max(along, key=self.score)
        return all(trial.behind(best, self.measure) > self.limit for trial in along[-_CLEARLY:])

    def _declining(self, along: Mapping[int, Trial], last: int) -> bool:
        """Whether the last values of a path are all worse than the best before them."""
        if self.limit is None:
            return False
        best = max(self.score(trial) for i, trial in along.items() if i <= last - _WORSE)
        return all(self.score(along[i]) < best for i in range(last - _WORSE + 1, last + 1))

    def _try(self, settings: Settings, path: int, strength: float) -> Trial:
        key = signature({name: settings.get(name, self.own[name]) for name in {*self.plan.names, *settings}})
        if key not in self._known:
            self._check_time()
            trial = Trial(settings, path, strength)
            trial.outcomes[0] = self.splits[0].evaluate(settings, self._over)
            trial.resolved = self._resolved(settings)
            self._known[key] = trial
            self.trials.append(trial)
            self._tell(trial)
        trial = self._known[key]
        if not trial.path:  # the learner's own settings, which were tried before their path
            trial.path, trial.strength = path, strength
        return trial

    def _resolved(self, settings: Settings) -> Settings:
        """What parameters that are ``"auto"`` stood for in the last fit to the first split."""
        attributes = {walk.path.name: walk.path.resolved for walk in self.plan.walks}
        resolved = {}
        for name in self.plan.names:
            given = settings.get(name, self.own.get(name))
            if isinstance(given, str) and given == "auto":
                value = self.splits[0].fitted(attributes.get(name) or f"{name}_")
                if isinstance(value, (int, float, str)):
                    resolved[name] = value
        return resolved

    def _check_time(self) -> None:
        if self._over():
            raise KeyboardInterrupt

    def _tell(self, trial: Trial) -> None:
        judged = trial.judged
        with self._lock:
            said = trial.settings if judged is None else {**trial.settings, self.measure.name: judged.score}
            self.progress.step(**said)

    # -- the other splits ------------------------------------------------------------------

    def _still_racing(self) -> list[Trial]:
        judged = [trial for trial in self.trials if trial.judged is not None]
        if self.limit is None or not judged:
            return judged
        best = max(judged, key=self.score)
        assert best.judged is not None
        near = self.score(best) - best.judged.standard_error if self.lenient else np.inf
        return [t for t in judged if t.behind(best, self.measure) <= self.limit or self.score(t) >= near]

    def _confirm(self) -> None:
        """What is left on the other splits, which run side by side."""
        rest = range(1, len(self.splits))
        self.progress.expect(len(self.progress.history) + len(rest) * len(self.left))

        def see(k: int) -> None:
            for trial in self.left:
                self._check_time()
                trial.outcomes[k] = self.splits[k].evaluate(trial.settings, self._over)
                self._tell(trial)

        run_threads(see, rest, min(n_threads(self.n_jobs), len(rest)), self._halted)

    def _drop_unfinished_splits(self) -> None:
        """Keep what all settings that are left have seen."""
        for k in range(1, len(self.splits)):
            if not all(k in trial.outcomes for trial in self.left):
                for trial in self.trials:
                    trial.outcomes.pop(k, None)


def run_threads(task: Callable[[int], None], items: Any, threads: int, halted: threading.Event) -> None:
    """Run a task for all items on threads of their own, which may start threads themselves.

    Parameters
    ----------
    task : callable
        What is done with an item.
    items : iterable of int
        The items.
    threads : int
        How many at a time.
    halted : Event
        Set when a task fails or Ctrl-C comes, so that the others end, too.
    """
    if threads <= 1:
        for item in items:
            task(item)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="trelliswork-tuning") as pool:
        futures = [pool.submit(task, item) for item in items]
        try:
            for future in futures:
                future.result()
        except BaseException:
            halted.set()
            raise
