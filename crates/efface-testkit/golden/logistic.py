"""Writes logistic.json: the logistic loss, its slope and its curvature in the margin z, for the target y = +1.

    l(z) = log(1 + e^-z)      l'(z) = -1 / (1 + e^z)      l''(z) = e^-|z| / (1 + e^-|z|)^2

Computed with 60 digits, written with 20. Values below the smallest double keep their true exponent and read as zero.
Margins are the doubles nearest to the decimals written. Run from any folder: python3 logistic.py
"""

from mpmath import mp, mpf

from gaussian_dp import digits, write

mp.dps = 60

MARGINS = [0.0, 1e-8, 0.1, 1.0, 1.3169578969248166, 5.0, 37.0, 100.0, 700.0, 745.0, 1e3, 1e20]


def value(z):
    return max(-z, mpf(0)) + mp.log1p(mp.exp(-abs(z)))


def slope(z):
    return -mp.exp(-z) / (1 + mp.exp(-z)) if z > 0 else -1 / (1 + mp.exp(z))


def curvature(z):
    e = mp.exp(-abs(z))
    return e / (1 + e) ** 2


def main():
    margins = sorted({sign * margin for margin in MARGINS for sign in (-1.0, 1.0)})
    entries = [
        {
            "margin": repr(margin + 0.0),
            "value": digits(value(mpf(margin))),
            "slope": digits(slope(mpf(margin))),
            "curvature": digits(curvature(mpf(margin))),
        }
        for margin in margins
    ]
    write(
        "logistic.json",
        {
            "script": "logistic.py",
            "target": "+1",
            "relative_tolerance": "1e-14",
            "absolute_tolerance": "1e-322",
            "entries": entries,
        },
    )


if __name__ == "__main__":
    main()
