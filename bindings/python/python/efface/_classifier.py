"""What the two classifiers share: classes, scores, and predictions from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from efface._base import RemovableLinearModel
from efface._foundation import Report
from efface._given import _labels, _parameters
from efface._released import Released

if TYPE_CHECKING:
    from typing_extensions import Self


class RemovableClassifier(ClassifierMixin, RemovableLinearModel):
    """Two classes by one problem; more by one against the others each."""

    classes_: NDArray[Any]
    class_weight: dict[Any, float] | None
    _numeric_labels = False

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        ids: Any = None,
        subjects: Any = None,
    ) -> Self:
        """Add rows: train on them if there is no model yet, join them to the rows it has otherwise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels. Every class must be among those of the first call.
        classes : array-like of shape (n_classes,), optional
            All classes, as other classifiers of scikit-learn ask for; here the first rows must have some of each.
        sample_weight : array-like of shape (n_samples,), optional
            As for ``fit``.
        ids, subjects : array-like of shape (n_samples,) or str, optional
            As for ``fit``. Default: the columns that ``fit`` took them from, the labels of X's index if the rows of
            ``fit`` were called so, or numbers that go on from those before.

        Returns
        -------
        self : object
            The estimator.
        """
        if not self.__sklearn_is_fitted__():
            return self._fit(X, y, classes, sample_weight, ids=ids, subjects=subjects)
        known = self._trained_with(), _labels.names(self.classes_)
        if classes is not None and _labels.names(np.unique(classes)) not in known:
            raise ValueError(f"classes must be those of the first call, {self.classes_!r}, got {classes!r}")
        self._add(X, y, sample_weight, ids=ids, subjects=subjects)
        return self

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Released weights: shape (1, n_features), or (n_classes, n_features).

        In the columns' own units where ``scale`` is ``"auto"``: ``X @ coef_.T + intercept_`` are the scores of rows
        that are not clipped. Of scaled rows otherwise.
        """
        return self._current().coef

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Released intercepts: shape (1,), or (n_classes,)."""
        return self._current().intercepts

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of rows under the released weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; they are scaled like those of the training.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one score, positive for ``classes_[1]``; beyond, one per class.
        """
        scores = self._scores(X)
        return np.ravel(scores) if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of rows, by the released weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            For each row the class of the largest score.
        """
        scores = self.decision_function(X)
        codes = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def _encode_first(
        self, labels: NDArray[Any], classes: Any, weights: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], list[str] | None]:
        self.classes_, codes = _labels.find_classes(labels, classes)
        unknown = [name for name in _parameters.class_weights(self) if name not in _labels.names(self.classes_)]
        if unknown:
            raise ValueError(f"class_weight has classes of which there are no rows: {', '.join(map(repr, unknown))}")
        return codes, _labels.names(self.classes_)

    def _encode(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        trained_with = self._trained_with()
        codes = np.array([trained_with.index(name) for name in _labels.names(self.classes_)], dtype=np.float64)
        return codes[_labels.encode(labels, self.classes_).astype(np.intp)]

    def _trained_with(self) -> list[str]:
        """The classes that the engine counts: those of the training, also those that have gone since."""
        names: list[str] = json.loads(self._engine_to_change().description())["classes"]
        return names

    def _follow(self, released: Released) -> None:
        self._keep_classes([name in released.classes for name in _labels.names(self.classes_)])

    def _changed(self, report: Report) -> None:
        # A class goes with its last row: at once where the next look at the weights releases anew, so that classes and
        # scores belong together whichever is looked at first.
        if self.auto_release:
            gone = report.get("classes_gone", [])
            self._keep_classes([name not in gone for name in _labels.names(self.classes_)])

    def _keep_classes(self, kept: list[bool]) -> None:
        if not all(kept):
            self.classes_ = _labels.no_wider_than_needed(self.classes_[kept])
