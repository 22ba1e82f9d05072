"""Times the estimators of the package `efface` beside scikit-learn's solvers on MNIST 3-vs-8.

    estimators.py DATA [--rounds 7]          DATA/mnist holds the four IDX files, gzipped
    estimators.py --memory [--gigabytes 2]   what a fit adds to the memory of a large array

Everything is timed in one process, solver after solver in each round, so that whatever slows the machine down slows all
of them. Each solver is timed at the tolerance that makes it reach a gradient norm: a rough one, and one near that which
Efface always reaches. Gradients are those of

    L(w) = sum of log(1 + exp(-y w.x)) + l2 * n / 2 * |w|^2,

rows divided by their norms, which is scikit-learn's objective for C = 1 / (l2 * n) without an intercept.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import statistics
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import sklearn
from numpy.typing import NDArray
from peers import Problem, fit, matching_tolerance
from sklearn.exceptions import ConvergenceWarning

from efface import RemovableLogisticRegression

L2 = 1e-3

# `sag` and `saga` are left out: to the rough gradient they take two to five times as long as `lbfgs`.
SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky")

# What scikit-learn's own stopping rule means by a tolerance of 1e-6, and nearly what Efface reaches: 1e-9 in all.
GRADIENTS_PER_ROW = {"rough": 1e-6, "alike": 1e-12}


def mnist(folder: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Digits 3 and 8 of the training set: rows of norm 1, and 1 for an 8."""
    images = np.frombuffer(gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    labels = np.frombuffer(gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    chosen = (labels == 3) | (labels == 8)
    rows = images.reshape(len(labels), -1)[chosen].astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), (labels[chosen] == 8).astype(np.float64)


def ours(x: NDArray[np.float64], y: NDArray[np.float64]) -> RemovableLogisticRegression:
    return RemovableLogisticRegression(l2=L2, fit_intercept=False).fit(x, y)


def rest() -> None:
    """Waits until the threads of whatever ran before have gone to sleep: they spin for a while without work."""
    time.sleep(0.3)


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def line(name: str, seconds: float, note: str) -> str:
    milliseconds = f"{1e3 * seconds:,.0f}" if seconds > 0.01 else f"{1e3 * seconds:.2f}"
    return f"| {name} | {milliseconds} ms | {note} |"


@dataclass(frozen=True)
class Rival:
    """A solver, at the tolerance that makes it reach a gradient norm; None: it cannot."""

    solver: str
    tol: float | None

    @classmethod
    def matching(cls, problem: Problem, solver: str, gradient_norm: float) -> Rival:
        tol, found = matching_tolerance(problem, solver, gradient_norm)
        return cls(solver, tol if problem.gradient_norm(found.coef) <= gradient_norm else None)


def speed(folder: Path, rounds: int) -> bool:
    """Prints the table; whether both targets are met."""
    x, y = mnist(folder / "mnist")
    problem = Problem(x, [y], L2)
    left = problem.without(np.array([17]))
    norms = {name: norm * len(x) for name, norm in GRADIENTS_PER_ROW.items()}
    rivals = {name: [Rival.matching(problem, solver, norm) for solver in SOLVERS] for name, norm in norms.items()}

    ours_seconds, remove, release = [], [], []
    theirs: dict[tuple[str, str], list[float]] = defaultdict(list)
    refits: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        rest()
        ours_seconds.append(timed(partial(ours, x, y)))
        model = ours(x, y)
        # The first removal works on memory that no removal has touched yet.
        model.remove(ids=[0])
        remove += [timed(partial(model.remove, ids=[row])) for row in range(1, 21)]
        release.append(timed(model.release))
        for name in norms:
            able = [rival for rival in rivals[name] if rival.tol is not None]
            for rival in able:
                rest()
                theirs[name, rival.solver].append(fit(problem, rival.solver, rival.tol).seconds)
            refits[name].append(min(fit(left, rival.solver, rival.tol).seconds for rival in able))

    own, one = statistics.median(ours_seconds), statistics.median(remove)
    print(f"MNIST 3-vs-8: {len(x):,} rows, {x.shape[1]} features, l2 = {L2}; scikit-learn {sklearn.__version__}")
    print(f"medians of {rounds} rounds\n\n| | time | |\n|---|---|---|")
    print(line("`RemovableLogisticRegression.fit`", own, "to a gradient of 1e-9; released, certified"))
    met = True
    for name, norm in norms.items():
        for rival in rivals[name]:
            title = f"scikit-learn `{rival.solver}`, {name}"
            if rival.tol is None:
                print(f"| {title} | | does not reach {norm:.2g} |")
                continue
            seconds = statistics.median(theirs[name, rival.solver])
            # The target is stated for the same gradient norm; the rough one is for information.
            met &= seconds >= own or name == "rough"
            print(line(title, seconds, f"gradient below {norm:.2g}; {seconds / own:.2f} times as long"))
    print(line("`remove` one row", one, "of 20 one after another, all rounds"))
    print(line("`release` after them", statistics.median(release), "settled, with fresh noise and a certificate"))
    for name in norms:
        seconds = statistics.median(refits[name])
        met &= seconds >= 300 * one
        print(line(f"refitting without one row, {name}", seconds, f"{seconds / one:.0f} times as long as `remove`"))
    print(
        "\nBoth targets are met."
        if met
        else "\nNot met: fit as fast as every solver alike, and remove 300 times as fast."
    )
    return met


def peak() -> int:
    """The most memory that was resident so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory(gigabytes: float) -> None:
    dim = 256
    n_rows = int(gigabytes * 1e9 / (4 * dim))
    rng = np.random.default_rng(1)
    x = np.empty((n_rows, dim), dtype=np.float32)
    for start in range(0, n_rows, 65_536):
        part = x[start : start + 65_536]
        part[:] = rng.standard_normal(part.shape, dtype=np.float32)
    y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
    before = peak()
    seconds = timed(partial(RemovableLogisticRegression(l2=L2).fit, x, y))
    added = peak() - before
    print(f"{x.nbytes / 1e9:.2f} GB of float32, {n_rows:,} rows of {dim}; fit took {seconds:.1f} s")
    print(f"resident before {before / 1e9:.2f} GB, peak during fit {(before + added) / 1e9:.2f} GB:", end=" ")
    print(f"{added / 1e9:.3f} GB more, {100 * added / x.nbytes:.1f} % of the array")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, help="folder with a folder mnist")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--memory", action="store_true", help="measure memory instead of time")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="size of the array for --memory")
    arguments = parser.parse_args()
    # Whether a fit converged is told by the gradient that it reached.
    warnings.simplefilter("ignore", ConvergenceWarning)
    if arguments.memory:
        memory(arguments.gigabytes)
    elif arguments.data is None:
        parser.error("a folder with the data is needed")
    elif not speed(arguments.data, arguments.rounds):
        sys.exit(1)


if __name__ == "__main__":
    main()
