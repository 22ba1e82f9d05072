"""Changes of the rows of a fitted model, and what follows them: settling, releasing, retraining."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface._foundation import Foundation, Report
from efface._given import _ids, _input, _naming, _parameters


class Changes(Foundation):
    """The verbs that scikit-learn does not have."""

    def remove(
        self,
        *,
        ids: Any = None,
        subjects: Any = None,
        request_id: str | None = None,
        skip_missing: bool = False,
    ) -> Report:
        """Remove rows, or everything about subjects, in milliseconds.

        The exact weights move next to those that training without the rows would give. The next use of the released
        ones (``coef_``, ``predict``, …) settles what is left and releases anew.

        Parameters
        ----------
        ids : int, str or array-like of them, optional
            Rows, by the ids given to ``fit``, the labels of its frame's index, or their numbers. In any order: a set
            will do.
        subjects : int, str or array-like of them, optional
            Subjects: all their rows are removed.
        request_id : str, optional
            A name for the request; repeating a request of that name changes nothing. It stands in certificates, so it
            should name nobody.
        skip_missing : bool, default=False
            Leave out, and count, those that the model does not know, instead of refusing the request.

        Returns
        -------
        report : dict
            What was done: how many rows left, and the bound on the distance to the retrained weights. Its digits depend
            on the rows and are not covered by the guarantee: not for publishing.
        """
        engine = self._engine_to_change()
        if (ids is None) == (subjects is None):
            raise ValueError(f"remove takes ids or subjects, got {'neither' if ids is None else 'both'}")
        report = _parsed(
            engine.remove(
                ids=None if ids is None else _ids.listed(ids, what="ids"),
                subjects=None if subjects is None else _ids.listed(subjects, what="subjects"),
                request_id=request_id,
                skip_missing=bool(skip_missing),
            )
        )
        self._changed(report)
        return report

    def correct(self, ids: Any, X: Any, y: Any, *, subjects: Any = None, sample_weight: Any = None) -> Report:
        """Replace rows by corrected ones: a removal and an addition in one step.

        Parameters
        ----------
        ids : array-like of shape (n_rows,) or str
            Which rows, or the column of X that says so.
        X : array-like of shape (n_rows, n_features)
            What they should have been.
        y : array-like of shape (n_rows,)
            Their labels.
        subjects : array-like of shape (n_rows,) or str, optional
            Whose they are. Default: as before.
        sample_weight : array-like of shape (n_rows,), optional
            Their weights. Default: as before.

        Returns
        -------
        report : dict
            What was done.
        """
        engine = self._engine_to_change()
        named = _naming.as_given(X, ids=ids, subjects=subjects)
        rows, labels = _input.more_rows(self, named.X, y, numeric=self._numeric_labels)
        names = named.column("ids", rows.n_rows)
        if names is None:
            raise ValueError("correct needs the ids of the rows, got `None`")
        report = _parsed(
            engine.correct(
                names,
                rows.data,
                self._encode(labels),
                subjects=named.column("subjects", rows.n_rows),
                row_weights=_input.sample_weights(sample_weight, rows, _parameters.max_sample_weight(self)),
            )
        )
        self._changed(report)
        return report

    def _add(self, X: Any, y: Any, sample_weight: Any, *, ids: Any, subjects: Any) -> None:
        engine = self._engine_to_change()
        row_names = json.loads(engine.description())["row_names"]
        named = _naming.further(X, y, ids=ids, subjects=subjects, columns=self._named_columns, row_names=row_names)
        rows, labels = _input.more_rows(self, named.X, y, numeric=self._numeric_labels)
        engine.add(
            rows.data,
            self._encode(labels),
            ids=named.column("ids", rows.n_rows),
            subjects=named.column("subjects", rows.n_rows),
            row_weights=_input.sample_weights(sample_weight, rows, _parameters.max_sample_weight(self)),
        )

    def settle(self, tol: float | None = None) -> Report:
        """Polish the exact weights with a few passes over the rows.

        A release does it by itself; calling it at a quiet hour makes the next one quicker.

        Parameters
        ----------
        tol : float, optional
            The gradient norm to reach. Default: that of the training.

        Returns
        -------
        report : dict
            Passes made, and the bounds after them: not for publishing.
        """
        return _parsed(self._engine().settle(tol))

    def retrain(self) -> Report:
        """Train again from zero on the rows that are left; needed under mechanism ``"objective"`` only.

        Returns
        -------
        report : dict
            What was done.
        """
        secret = self._open_secret()
        secret.is_changed = True
        return _parsed(secret.engine.retrain(secret.next_seed()))

    def release(self) -> Report:
        """Publish the weights as they are now: settle them if need be, add fresh noise, issue a certificate.

        Returns
        -------
        certificate : dict
            The new ``certificate_``.
        """
        return self._publish(self._open_secret()).claims()

    def influence(self, ids: Any = None) -> NDArray[np.float64]:
        """How far the removal of each row would move the weights.

        The numbers come from the exact weights and are not covered by the guarantee: do not publish them.

        Parameters
        ----------
        ids : array-like of int or str, optional
            Rows. Default: all, in the order in which they came; those that have left have influence 0.

        Returns
        -------
        influence : ndarray of shape (n_rows,)
            Euclidean norm of the removal update.
        """
        engine = self._engine()
        return np.asarray(engine.influence(None if ids is None else _ids.ordered(ids, what="ids")))


def _parsed(report: str) -> Report:
    parsed: Report = json.loads(report)
    return parsed
