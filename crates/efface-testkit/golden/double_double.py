"""Writes double_double.json: elementary functions and the logistic loss as exact pairs of doubles.

A record is [argument hi, argument lo, value hi, value lo]; both values are the nearest doubles of a 60-digit result
(hi) and of what hi leaves out (lo). Run from any folder: python3 double_double.py
"""

import random

from mpmath import mp, mpf

import logistic
from gaussian_dp import write

mp.dps = 60


def pair(x):
    hi = float(x)
    return [hi, float(x - mpf(hi))]


def arguments(draws):
    """The given doubles, each alone and with a random low part."""
    source = random.Random(1)
    result = []
    for x in draws:
        result.append((x, 0.0))
        result.append((x, x * 2.0**-53 * source.uniform(-0.49, 0.49)))
    return result


def table(function, draws):
    return [[hi, lo, *pair(function(mpf(hi) + mpf(lo)))] for hi, lo in arguments(draws)]


def main():
    around_zero = [-0.3, -0.01, -1e-9, 1e-20, 1e-9, 1e-3, 0.1, 0.34, 0.4, 1.0, 2.5]
    positive = [1e-270, 1e-8, 0.1, 0.3, 0.6, 1.7, 2.5, 10.0, 1e10, 1e200]
    margins = [sign * margin for margin in logistic.MARGINS[1:] for sign in (-1.0, 1.0)]
    tables = {
        "exp": table(mp.exp, [*around_zero, -0.7, 20.0, 700.0, -37.0, -100.0, -600.0, -700.0, -740.0]),
        "exp_m1": table(mp.expm1, [*around_zero, -5.0, -80.0, 30.0]),
        "ln": table(mp.log, positive),
        "ln_1p": table(mp.log1p, [*around_zero, -0.9, 1e-200, 1e10]),
        "sqrt": table(mp.sqrt, positive),
        "logistic_value": table(logistic.value, margins),
        "logistic_slope": table(logistic.slope, margins),
        "logistic_curvature": table(logistic.curvature, margins),
    }
    write("double_double.json", {"script": "double_double.py", "relative_tolerance": "1e-29", **tables})


if __name__ == "__main__":
    main()
