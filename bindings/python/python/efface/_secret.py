"""Where the secret state of an estimator is kept: beside it, never in it.

The engine holds the rows and the exact weights. An estimator's ``__dict__`` is what pickles, reprs, debuggers and
``vars()`` show, so the engine is not there; it lives in a table of this module for as long as the estimator does.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

if TYPE_CHECKING:
    from efface._efface import Engine


@dataclass
class Secret:
    """An engine, and the seeds of its noise where the user asked for predictable ones.

    Attributes
    ----------
    n_taken : int
        How many releases the engine had made when the estimator took its latest one over.
    is_changed : bool
        Whether rows were changed through this estimator.
    n_lookers : int
        How many are only looking at the estimator (a notebook that shows it, completion of a name): no release is made
        for them.
    lock : RLock
        Held while a release is looked for, made and taken over: of many threads that use a stale model, one releases.
    """

    engine: Engine = field(repr=False)
    seed: int | None = field(default=None, repr=False)
    n_drawn: int = 0
    n_taken: int = field(default=0, repr=False)
    is_changed: bool = field(default=False, repr=False)
    n_lookers: int = field(default=0, repr=False)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)

    def next_seed(self) -> int | None:
        """A seed for the next release, different from all before it; None: noise that nobody can predict."""
        if self.seed is None:
            return None
        self.n_drawn += 1
        return int(np.random.SeedSequence((self.seed, self.n_drawn)).generate_state(1, np.uint64)[0]) >> 1


_SECRETS: WeakKeyDictionary[object, Secret] = WeakKeyDictionary()


def keep(estimator: object, secret: Secret) -> None:
    """Makes the secret the estimator's; one that it had before is let go."""
    _SECRETS[estimator] = secret


def find(estimator: object) -> Secret | None:
    """The estimator's secret, unless it was unpickled without one, closed, or never fitted."""
    return _SECRETS.get(estimator)


def forget(estimator: object) -> Secret | None:
    """Takes the secret away from the estimator and returns it."""
    return _SECRETS.pop(estimator, None)
