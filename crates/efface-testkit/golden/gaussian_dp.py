"""Writes gaussian_dp.json: the exact trade-off between two Gaussians of equal variance.

    delta(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)

`deltas` holds delta for pairs (epsilon, mu), `mus` the mu that reaches a given delta. Computed with 60 digits,
written with 20; the tolerance is what an implementation in doubles can meet in the far tails.
Run from any folder: python3 gaussian_dp.py
"""

import json
import pathlib

from mpmath import mp, mpf

mp.dps = 60

EPSILONS = ["0.01", "0.05", "0.1", "0.25", "0.5", "1", "2", "4", "8"]
MUS = ["1e-3", "1e-2", "0.05", "0.1", "0.3139", "0.5", "1", "2", "4"]
DELTAS = ["1e-2", "1e-4", "1e-6", "1e-8", "1e-10", "1e-12"]


def normal_cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def delta_of(epsilon, mu):
    # The two terms agree in leading digits for small mu: a tail of e^-700 needs more than 60 working digits.
    with mp.workdps(120):
        upper = normal_cdf(mu / 2 - epsilon / mu)
        lower = normal_cdf(-mu / 2 - epsilon / mu)
        return upper - mp.exp(epsilon) * lower


def mu_of(epsilon, delta):
    low, high = mpf("1e-4"), mpf(40)
    assert delta_of(epsilon, low) < delta < delta_of(epsilon, high)
    for _ in range(220):
        middle = (low + high) / 2
        if delta_of(epsilon, middle) < delta:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def digits(x):
    return mp.nstr(x, 20, min_fixed=-4, max_fixed=6)


def main():
    deltas = []
    for epsilon in EPSILONS:
        for mu in MUS:
            delta = delta_of(mpf(epsilon), mpf(mu))
            if delta >= mpf("1e-300"):
                deltas.append({"epsilon": epsilon, "mu": mu, "delta": digits(delta)})
    mus = [
        {"epsilon": epsilon, "delta": delta, "mu": digits(mu_of(mpf(epsilon), mpf(delta)))}
        for epsilon in EPSILONS
        for delta in DELTAS
    ]
    write("gaussian_dp.json", {"script": "gaussian_dp.py", "relative_tolerance": "1e-9", "deltas": deltas, "mus": mus})


def write(name, table):
    """One record a line, so that a change shows as a small difference."""
    parts = []
    for key, value in table.items():
        if isinstance(value, list):
            lines = ",\n".join("    " + json.dumps(record) for record in value)
            parts.append(f'  "{key}": [\n{lines}\n  ]')
        else:
            parts.append(f'  "{key}": {json.dumps(value)}')
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    (pathlib.Path(__file__).parent / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
