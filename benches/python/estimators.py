"""Times the estimators of the package `efface` beside scikit-learn's solvers on MNIST 3-vs-8.

    estimators.py DATA [--rounds 7]          DATA/mnist holds the four IDX files, gzipped
    estimators.py --memory [--gigabytes 2]   what a fit adds to the memory of a large array

Everything is timed in one process, solver after solver in each round, so that whatever slows the machine down slows all of
them. Each solver is asked for the gradient norm that Efface reaches, and timed at the tolerance that gives it. Gradients are
those of

    L(w) = sum of log(1 + exp(-y w.x)) + l2 * n / 2 * |w|^2,

rows divided by their norms, which is scikit-learn's objective for C = 1 / (l2 * n) without an intercept.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import sklearn
from efface import RemovableLogisticRegression
from numpy.typing import NDArray
from peers import Problem, fit, matching_tolerance
from sklearn.exceptions import ConvergenceWarning

L2 = 1e-3

# `liblinear`, `sag` and `saga` take minutes to the gradients asked for here, or never reach them.
SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")

# Per row: what scikit-learn's own stopping rule means by a tolerance of 1e-6.
GRADIENT_PER_ROW = 1e-6


def mnist(folder: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Digits 3 and 8 of the training set: rows of norm 1, and 1 for an 8."""
    images = np.frombuffer(gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    labels = np.frombuffer(gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    chosen = (labels == 3) | (labels == 8)
    rows = images.reshape(len(labels), -1)[chosen].astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), (labels[chosen] == 8).astype(np.float64)


def ours(x: NDArray[np.float64], y: NDArray[np.float64], tol: float) -> RemovableLogisticRegression:
    return RemovableLogisticRegression(l2=L2, fit_intercept=False, tol=tol).fit(x, y)


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def row(name: str, seconds: list[float], note: str) -> str:
    return f"| {name} | {1e3 * statistics.median(seconds):.3g} ms | {note} |"


def speed(folder: Path, rounds: int) -> None:
    x, y = mnist(folder / "mnist")
    problem = Problem(x, [y], L2)
    wanted = GRADIENT_PER_ROW * len(x)
    tolerances = {solver: matching_tolerance(problem, solver, wanted)[0] for solver in SOLVERS}

    times: dict[str, list[float]] = {name: [] for name in (*SOLVERS, "fit", "fit-1e-9", "remove", "release", "refit")}
    reached = {}
    left = problem.without(np.array([17]))
    for _ in range(rounds):
        times["fit"].append(timed(partial(ours, x, y, wanted)))
        times["fit-1e-9"].append(timed(partial(ours, x, y, 1e-9)))
        for solver in SOLVERS:
            found = fit(problem, solver, tolerances[solver])
            times[solver].append(found.seconds)
            reached[solver] = problem.gradient_norm(found.coef)
        model = ours(x, y, 1e-9)
        # The first removal works on memory that no removal has touched yet.
        model.remove(ids=[16])
        times["remove"].append(timed(partial(model.remove, ids=[17])))
        times["release"].append(timed(model.release))
        times["refit"].append(min(fit(left, solver, tolerances[solver]).seconds for solver in SOLVERS))

    median = {name: statistics.median(seconds) for name, seconds in times.items()}
    fastest = min(SOLVERS, key=median.__getitem__)
    print(f"MNIST 3-vs-8: {len(x):,} rows, {x.shape[1]} features, l2 = {L2}; scikit-learn {sklearn.__version__}")
    print(f"medians of {rounds} rounds; gradient norm asked for: {wanted:.3g}\n")
    print("| | time | |\n|---|---|---|")
    print(row("`RemovableLogisticRegression.fit`", times["fit"], "and settled further, released, certified"))
    print(row("the same to a gradient of 1e-9", times["fit-1e-9"], "as it is by default"))
    for solver in SOLVERS:
        note = f"gradient {reached[solver]:.2g}, {median[solver] / median['fit']:.2f} times ours"
        print(row(f"scikit-learn `{solver}`", times[solver], note))
    print(row("`remove` one row", times["remove"], f"{median['refit'] / median['remove']:.0f} times as fast as refitting"))
    print(row("`release` after it", times["release"], "settled, with fresh noise and a certificate"))
    print(row("refitting without the row", times["refit"], "the fastest of scikit-learn's solvers in each round"))
    print(f"\nfit is {median[fastest] / median['fit']:.2f} times as fast as the fastest solver, `{fastest}`.")


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
    else:
        speed(arguments.data, arguments.rounds)


if __name__ == "__main__":
    main()
