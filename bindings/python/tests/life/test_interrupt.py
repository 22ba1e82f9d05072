"""Ctrl-C stops a long fit, and other threads of Python run meanwhile."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from efface import RemovableLogisticRegression

# Wide enough that forming the curvature takes many seconds.
LONG = """
    import sys, time
    import numpy as np
    from efface import RemovableLogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 1_500)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    print("start", flush=True)
    try:
        RemovableLogisticRegression(l2=1e-9, n_jobs=1).fit(X, y)
    except KeyboardInterrupt:
        print("stopped", flush=True)
        sys.exit(130)
    print("finished", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent in another way there")
def test_ctrl_c_stops_a_long_fit():
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(LONG)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "start\n"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        # And not "finished", many seconds later.
        assert process.stdout.readline() == "stopped\n"
        assert process.wait(timeout=20) == 130


def test_other_threads_run_during_a_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 200))
    y = (X[:, 0] > 0).astype(int)
    done = threading.Event()
    ticks = []

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    RemovableLogisticRegression(n_jobs=1).fit(X, y)
    elapsed = time.perf_counter() - begin
    done.set()
    thread.join()
    longest = np.diff(ticks).max()
    assert len(ticks) > 10
    assert longest < max(0.25, elapsed / 2), f"another thread stood still for {longest:.2f} s of {elapsed:.2f} s"
