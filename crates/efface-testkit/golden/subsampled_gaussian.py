"""Rényi divergences of the subsampled Gaussian by numerical integration, both directions, and ε from them.

Writes subsampled_gaussian.json beside this file. Needs mpmath; takes about a minute.
"""

import json
from pathlib import Path

from mpmath import exp, inf, log, mp, mpf, npdf, nstr, quad

mp.dps = 50


def divergence(q, sigma, alpha, backward):
    """D_α between N(0, σ²) and (1−q) N(0, σ²) + q N(1, σ²), as an integral over the line."""
    q, sigma = mpf(q), mpf(sigma)

    def ratio(x):
        return 1 - q + q * exp((2 * x - 1) / (2 * sigma**2))

    power = 1 - alpha if backward else alpha
    # The integrand's bumps are at 0, …, α, each a few σ wide.
    low, high = -30 * sigma, alpha + 30 * sigma
    cells = [low + (high - low) * i / 60 for i in range(61)]
    integral = quad(lambda x: npdf(x, 0, sigma) * ratio(x) ** power, cells)
    return log(integral) / (alpha - 1)


def epsilon(q, sigma, steps, delta, largest_order, old):
    """The least ε over all integer orders up to the largest, by the sum at 50 digits."""
    q, sigma, delta = mpf(q), mpf(sigma), mpf(delta)
    growth = exp(1 / (2 * sigma**2))
    best = inf
    for alpha in range(2, largest_order + 1):
        total, binomial = mpf(0), mpf(1)
        for k in range(alpha + 1):
            total += binomial * (1 - q) ** (alpha - k) * q**k * growth ** (k * (k - 1))
            binomial = binomial * (alpha - k) / (k + 1)
        renyi = steps * log(total) / (alpha - 1)
        if old:
            found = renyi - log(delta) / (alpha - 1)
        else:
            found = renyi + log(mpf(alpha - 1) / alpha) - (log(delta) + log(alpha)) / (alpha - 1)
        best = min(best, found)
    return best


def main():
    divergences = []
    for q, sigma in [("0.001", "1"), ("0.0625", "1"), ("0.0625", "3"), ("0.5", "0.5"), ("0.015625", "0.75"), ("0.9", "6")]:
        for alpha in [2, 3, 5, 12, 32]:
            row = [q, sigma, alpha] + [nstr(divergence(q, sigma, alpha, way), 20) for way in (False, True)]
            divergences.append(row)
    epsilons = []
    for q, sigma, steps, delta in [
        ("8.273e-4", "6", 24180, "1e-5"),
        ("0.01", "1", 1000, "1e-5"),
        ("0.02", "4", 500, "1e-6"),
        ("0.004", "0.7", 10000, "1e-5"),
        ("0.125", "20", 100, "1e-8"),
    ]:
        pair = [nstr(epsilon(q, sigma, steps, delta, 512, old), 20) for old in (False, True)]
        epsilons.append([q, sigma, steps, delta] + pair)
    table = {
        "script": "subsampled_gaussian.py",
        "relative_tolerance": "1e-10",
        "divergences": divergences,
        "epsilons": epsilons,
    }
    write("subsampled_gaussian.json", table)


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
    (Path(__file__).parent / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
