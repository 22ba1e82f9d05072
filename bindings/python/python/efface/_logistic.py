"""Logistic regression that can forget."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from efface._classifier import RemovableClassifier


class RemovableLogisticRegression(RemovableClassifier):
    """Logistic regression whose rows can be removed, with a certificate.

    Minimises ``Σ sᵢ log(1 + exp(−yᵢ wᵀxᵢ)) + ‖w‖² / (2 C)`` over the scaled rows xᵢ of weight sᵢ (1 by default), with
    the multinomial (softmax) loss beyond two classes. The intercept is one more weight, of a feature that is 8 (and 1
    unless ``scale="auto"``), and regularised like the others: 64 times less. What is released, and all that ``coef_``
    and ``predict`` show, is the minimiser plus Gaussian noise of standard deviation ``noise_std``.

    Parameters
    ----------
    l2 : float, optional
        Strength of the regularisation per row: ``(l2 · Σ sᵢ / 2) ‖w‖²`` in the place of ``‖w‖² / (2 C)``.
    C : float, optional
        The regularisation as scikit-learn has it. It does not change when rows leave. Default: 1, unless ``l2`` is
        given.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    scale : str, default="auto"
        How rows are scaled. ``"auto"``: each column is centred, divided by a power of two near its deviation, and
        clipped at 8 times that. These constants are derived from the rows in a way that can be undone: after a removal
        they are those of rows that never had the removed ones, so they are inside the guarantee. The others look at one
        row at a time. ``"unit"``: divided by its norm; ``"clip:R"``: divided by R, and shortened to 1 if still longer;
        ``"within:R"``: taken as it is, and refused if longer than R; ``"none"``: ``"within:1"``; ``"raw"``: taken as it
        is, within the least power of two that no row exceeds.
    features : map, dict, or path of a schema file, optional
        What becomes of raw cells: `Text`, `Image`, `Network`, `Fourier` or `Public`, of all of X; a dict of them by
        column, the other columns being as without; or a `Schema`. Default: columns are features.
    epsilon, delta : float, default=1.0, 1e-4
        The promise for the whole life of the model.
    noise_std : float, optional
        Standard deviation of the noise per weight. Default: 0.001 for mechanism ``"release"``, 1.0 for ``"objective"``.
    multi_class : {"softmax", "one-vs-rest"}, default="softmax"
        What three classes or more become: one problem of all of them, or one problem each, against the others.
    max_releases : int, default=4096
        Releases that the promise is shared among. With fewer, each may be less exact, which a very small ``l2`` needs.
    mechanism : {"release", "objective"}, default="release"
        ``"release"``: noise on what is published. ``"objective"``: the published algorithm, noise in the objective.
    tol : float, default=1e-9
        Gradient norm at which training ends.
    class_weight : dict, optional
        As how many rows a row of each class counts, besides its ``sample_weight``: ``{"fraud": 20}``. Of classes that
        are not in it, every row counts once.
    max_sample_weight : float, default=1024.0
        The largest weight that a row may have.
    auto_release : bool, default=True
        Whether the first use of the weights after a change releases anew. If false, the old release stays in use, with
        a warning, until ``release()`` is called.
    copy_X : bool, default=False
        Whether ``fit`` copies the rows. If false, the array must not be modified while the model lives.
    include_secret_state : bool, default=False
        Whether copies and pickles of a model in memory hold the rows and the exact weights. Each copy that has them
        spends the promise on its own account.
    n_jobs : int, optional
        Threads; -1: all processors. Default: as ``OMP_NUM_THREADS`` says, or else all. Results do not depend on it.
    random_state : int, RandomState instance, optional
        A seed makes the noise predictable: for tests. The model is then not certified.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Released weights: of the columns in their own units under ``scale="auto"``, of scaled rows otherwise. Columns
        with texts or gaps have one per feature that they become.
    encoded_feature_names_ : ndarray of text
        What each weight in ``coef_`` belongs to: ``age``, ``age=?missing``, ``plan=basic``, ``plan=?other``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Released intercepts.
    certificate_ : dict
        What the release in use promises and proves.
    status_ : dict
        What the model is and what it claims now.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the rows of ``fit`` had names that are all text.

    See Also
    --------
    RemovableRidge : The squared loss, for numbers.
    RemovableRidgeClassifier : The squared loss, for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from efface import RemovableLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RemovableLogisticRegression().fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    >>> model.remove(ids=[8, 123])["n_changed"]
    2
    >>> model.certificate_["n_removed"], model.certificate_["epsilon"]
    (2, 1.0)
    """

    _loss = "logistic"

    def __init__(
        self,
        l2: float | None = None,
        C: float | None = None,
        fit_intercept: bool = True,
        scale: str = "auto",
        features: Any = None,
        epsilon: float = 1.0,
        delta: float = 1e-4,
        noise_std: float | None = None,
        multi_class: str = "softmax",
        max_releases: int = 4096,
        mechanism: str = "release",
        tol: float = 1e-9,
        class_weight: dict[Any, float] | None = None,
        max_sample_weight: float = 1024.0,
        auto_release: bool = True,
        copy_X: bool = False,
        include_secret_state: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.l2 = l2
        self.C = C
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.features = features
        self.epsilon = epsilon
        self.delta = delta
        self.noise_std = noise_std
        self.multi_class = multi_class
        self.max_releases = max_releases
        self.mechanism = mechanism
        self.tol = tol
        self.class_weight = class_weight
        self.max_sample_weight = max_sample_weight
        self.auto_release = auto_release
        self.copy_X = copy_X
        self.include_secret_state = include_secret_state
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _is_joint(self) -> bool:
        """Whether the scores of all classes are taken together in the release in use."""
        return self._current().loss == "softmax"

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``. Beyond two classes their softmax; one against the others, the probability of
            each divided by their sum.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if self._is_joint:
            return np.asarray(softmax(scores, axis=1))
        each = expit(scores)
        total = each.sum(axis=1, keepdims=True)
        # Where every class is refused beyond the range of numbers, none is more likely than another.
        alike = np.full_like(each, 1.0 / each.shape[1])
        return np.asarray(np.divide(each, total, out=alike, where=total > 0.0))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        if self._is_joint:
            return np.asarray(log_softmax(scores, axis=1))
        each = log_expit(scores)
        shifted = each - each.max(axis=1, keepdims=True)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
