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


# The child's removal was answered and then lost, and its close() freed the parent's lock.
FORKED_WITH_A_DIRECTORY = """
    import os
    import sys
    import numpy as np
    import efface
    from efface import RemovableLogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    with_rows = RemovableLogisticRegression().fit(X, X[:, 0] > 0, ids=np.arange(200))
    with_rows.save(sys.argv[1])
    with_rows.close()
    model = efface.open(sys.argv[1])
    child = os.fork()
    if child == 0:
        try:
            model.remove(ids=3)
        except efface.EffaceError as error:
            told = f"opened by process {os.getppid()}" in str(error)
            try:
                model.close()
            except efface.EffaceError:
                pass
            del model
            os._exit(0 if told else 4)
        os._exit(3)
    _, status = os.waitpid(child, 0)
    try:
        efface.open(sys.argv[1])
    except efface.EffaceError as error:
        print("held" if "is being changed by" in str(error) else error)
    model.remove(ids=4)
    model.close()
    print(os.waitstatus_to_exitcode(status), efface.open(sys.argv[1]).status_["n_removed"])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_directory_belongs_to_the_process_that_opened_it(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(FORKED_WITH_A_DIRECTORY), str(tmp_path / "model.efface")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "held\n0 1\n"
