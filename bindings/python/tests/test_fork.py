"""A process that was forked off after the engine had been at work."""

import os
import subprocess
import sys
import textwrap

import pytest

# The parent has made threads by then, which the child does not have.
FORKED = """
    import os
    import numpy as np
    from efface import RemovableLogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 20))
    y = (X[:, 0] > 0).astype(int)
    model = RemovableLogisticRegression(n_jobs=2).fit(X, y)
    expected = model.predict(X)
    child = os.fork()
    if child == 0:
        same = np.array_equal(model.predict(X), expected)
        model.remove(ids=3)
        left = model.certificate_["n_removed"]
        os._exit(0 if same and left == 1 else 3)
    _, status = os.waitpid(child, 0)
    assert np.array_equal(model.predict(X), expected)
    print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_predicts_and_removes():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(FORKED)], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0\n"
