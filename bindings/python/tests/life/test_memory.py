"""A fit on rows in C order adds little to the memory that the rows themselves take."""

import subprocess
import sys
import textwrap

import pytest

MEASURED = """
    import resource
    import numpy as np
    from efface import RemovableLogisticRegression

    rng = np.random.default_rng(0)
    X = np.empty((400_000, 250), dtype=np.float32)
    for block in np.array_split(X, 50):
        block[:] = rng.standard_normal(block.shape, dtype=np.float32)
    y = (X[:, 0] > 0).astype(np.int64)
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    before = peak()
    model = RemovableLogisticRegression().fit(X, y)
    model.remove(ids=[1, 2, 3])
    model.coef_
    print(X.nbytes, before, peak())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is in other units there")
def test_a_fit_adds_less_than_a_quarter():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASURED)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows, before, after = map(int, done.stdout.split())
    assert rows == 400_000_000
    assert after - before < 0.25 * rows, f"{(after - before) / 1e6:.0f} MB on top of {rows / 1e6:.0f} MB of rows"
