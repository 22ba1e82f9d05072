"""Times scikit-learn's logistic regression on rows that efface-bench wrote.

    peers.py --check     prints versions and threads
    peers.py FOLDER      reads task.json from the folder, and x.f64, y.f64 and test.f64, which are doubles one after the
                         other; prints the figures and the coefficients of each solver

Both print one JSON object. Gradients are those of Efface's objective,

    L(w) = sum of log(1 + exp(-y w.x)) + l2_per_row * n / 2 * |w|^2,

whose minimiser is scikit-learn's for C = 1 / (l2_per_row * n) without an intercept. Several classes are one binary
problem each, as in OneVsRestClassifier; norms are taken over all of them together.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

try:
    import numpy as np
    import sklearn
    from numpy.typing import NDArray
    from scipy.special import expit
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_info
except ImportError as error:
    sys.exit(f"{error.name} is missing")

SOLVERS = ("lbfgs", "newton-cholesky")

# The gradient that Efface trains to; asked for where a fit may take as long as it needs.
LEAST_GRADIENT = 1e-9


@dataclass(frozen=True)
class Problem:
    """Rows, a 0/1 target per row for each binary problem, and the factor of the penalty."""

    x: NDArray[np.float64]
    targets: list[NDArray[np.float64]]
    l2_per_row: float

    def without(self, positions: NDArray[np.intp]) -> Problem:
        targets = [np.delete(target, positions) for target in self.targets]
        return Problem(np.delete(self.x, positions, axis=0), targets, self.l2_per_row)

    def gradient_norm(self, coef: NDArray[np.float64]) -> float:
        ridge = self.l2_per_row * len(self.x)
        gradients = [
            self.x.T @ (expit(self.x @ w) - target) + ridge * w for w, target in zip(coef, self.targets, strict=True)
        ]
        return float(np.linalg.norm(gradients))


@dataclass(frozen=True)
class Fit:
    """Coefficients, a row per binary problem, and the seconds they took."""

    coef: NDArray[np.float64]
    seconds: float


def fit(problem: Problem, solver: str, tol: float, start: NDArray[np.float64] | None = None) -> Fit:
    """Fits from zero, or from `start` with scikit-learn's warm start. Only `fit` itself is timed."""
    seconds = 0.0
    rows = []
    for index, target in enumerate(problem.targets):
        model = LogisticRegression(
            C=1.0 / (problem.l2_per_row * len(problem.x)),
            fit_intercept=False,
            solver=solver,
            tol=tol,
            max_iter=20_000,
            warm_start=start is not None,
        )
        if start is not None:
            model.coef_ = start[index : index + 1].copy()
            model.intercept_ = np.zeros(1)
            model.classes_ = np.array([0.0, 1.0])
        begin = time.perf_counter()
        model.fit(problem.x, target)
        seconds += time.perf_counter() - begin
        rows.append(model.coef_[0])
    return Fit(np.array(rows), seconds)


def figure(seconds: list[float], gradient_norm: float | None = None) -> dict[str, Any]:
    result: dict[str, Any] = {"seconds": statistics.median(seconds), "repeats": len(seconds)}
    if gradient_norm is not None:
        result["gradient_norm"] = gradient_norm
    return result


def repeat(work: Callable[[], Fit], task: dict[str, Any], first: Fit | None = None) -> tuple[list[float], Fit]:
    """Runs `work` once, and again while neither the number of repeats nor the time is used up."""
    latest = first or work()
    seconds = [latest.seconds]
    while len(seconds) < task["most_repeats"] and sum(seconds) * (1 + 1 / len(seconds)) <= task["seconds"]:
        latest = work()
        seconds.append(latest.seconds)
    return seconds, latest


def matching_tolerance(problem: Problem, solver: str, gradient_norm: float) -> tuple[float, Fit]:
    """A tolerance, lowered from the wanted gradient per row on as far as it takes, that reaches the wanted gradient."""
    tol = gradient_norm / len(problem.x)
    while True:
        found = fit(problem, solver, tol)
        reached = problem.gradient_norm(found.coef)
        if reached <= gradient_norm or tol < 1e-14:
            return tol, found
        tol *= min(0.5, gradient_norm / reached)


def measure(solver: str, problem: Problem, test: NDArray[np.float64], task: dict[str, Any]) -> dict[str, Any]:
    wanted = task["gradient_norm"]
    tol, first = matching_tolerance(problem, solver, wanted)
    seconds, trained = repeat(partial(fit, problem, solver, tol), task, first)
    figures: dict[str, Any] = {
        "solver": solver,
        "tol": tol,
        "train_matched": figure(seconds, problem.gradient_norm(trained.coef)),
    }
    least = LEAST_GRADIENT / len(problem.x)
    seconds, best = repeat(partial(fit, problem, solver, least), task)
    figures["train"] = figure(seconds, problem.gradient_norm(best.coef))
    figures["coefficients"] = best.coef.tolist()

    removed = np.array(task["removed"], dtype=np.intp)
    for name, positions in (("one", removed[:1]), ("hundred", removed)):
        left = problem.without(positions)
        for kind, start in (("refit", None), ("warm", trained.coef)):
            seconds, found = repeat(partial(fit, left, solver, tol, start), task)
            figures[f"{kind}_{name}"] = figure(seconds, left.gradient_norm(found.coef))
    figures["predict"] = figure(predictions(best.coef, test))
    return figures


def predictions(coef: NDArray[np.float64], test: NDArray[np.float64]) -> list[float]:
    """Seconds of predicting the classes of all test rows, by one model that holds all coefficients."""
    model = LogisticRegression(fit_intercept=False)
    model.coef_ = coef
    model.intercept_ = np.zeros(len(coef))
    model.classes_ = np.arange(max(2, len(coef)), dtype=float)
    seconds = []
    for _ in range(31):
        begin = time.perf_counter()
        model.predict(test)
        seconds.append(time.perf_counter() - begin)
    return seconds


def check() -> dict[str, Any]:
    libraries = [f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()]
    return {"scikit_learn": sklearn.__version__, "numpy": np.__version__, "threads": libraries}


def run(folder: Path) -> dict[str, Any]:
    task = json.loads((folder / "task.json").read_text())
    x, y, test = (np.fromfile(folder / f"{name}.f64", dtype="<f8") for name in ("x", "y", "test"))
    x, test = x.reshape(-1, task["dim"]), test.reshape(-1, task["dim"])
    positives = [1] if task["n_classes"] == 2 else range(task["n_classes"])
    problem = Problem(x, [(y == positive).astype(float) for positive in positives], task["l2_per_row"])
    return {"solvers": [measure(solver, problem, test, task) for solver in SOLVERS]}


def main() -> None:
    # Whether a fit converged is told by the gradient that it reached.
    warnings.simplefilter("ignore", ConvergenceWarning)
    if len(sys.argv) != 2:
        sys.exit("one argument is expected: --check or a folder")
    print(json.dumps(check() if sys.argv[1] == "--check" else run(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
