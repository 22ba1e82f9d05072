"""Writes special.json: normal distribution function and regularized incomplete gamma function.

`normal_cdf` holds [x, value], `gamma_p` holds [shape, x, value] with
P(a, x) = (1/Gamma(a)) integral_0^x t^(a-1) e^-t dt. Arguments are the doubles nearest to the decimals written.
Run from any folder: python3 special.py
"""

from mpmath import mp, mpf

from gaussian_dp import digits, write

mp.dps = 60

POINTS = [0.0, 1e-10, 0.1, 0.3, 0.5, 0.75, 0.99, 1.01, 1.3, 1.7, 2.0, 2.3, 2.5, 3.0, 4.0, 5.5, 8.0, 15.0, 25.0, 37.0]
SHAPES = [0.5, 1.0, 2.0, 3.7, 10.0, 40.0, 784.0]
RATIOS = [0.01, 0.3, 0.8, 0.97, 1.0, 1.05, 1.3, 2.5]


def main():
    points = sorted({sign * x for x in POINTS for sign in (-1.0, 1.0)})
    normal_cdf = [[repr(x + 0.0), digits(mp.ncdf(mpf(x)))] for x in points]
    gamma_p = []
    for shape in SHAPES:
        for ratio in RATIOS:
            x = shape * ratio
            exact = mp.gammainc(mpf(shape), 0, mpf(x), regularized=True)
            gamma_p.append([repr(shape), repr(x), digits(exact)])
    write(
        "special.json",
        {
            "script": "special.py",
            "relative_tolerance": "1e-14",
            "normal_cdf": normal_cdf,
            "gamma_p": gamma_p,
        },
    )


if __name__ == "__main__":
    main()
