"""Ridge regression that can forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from efface._base import RemovableLinearModel

if TYPE_CHECKING:
    from typing_extensions import Self


class RemovableRidge(RegressorMixin, RemovableLinearModel):
    """Ridge regression whose rows can be removed, with a certificate.

    Minimises ``½ Σ sᵢ (wᵀxᵢ − yᵢ)² + (alpha / 2) ‖w‖²`` over the scaled rows xᵢ of weight sᵢ (1 by default). The
    intercept is one more weight, of a feature that is 8 (and 1 unless ``scale="auto"``), and regularised like the
    others. What is released, and all that ``coef_`` and ``predict`` show, is the minimiser, plus Gaussian noise if
    ``noise_std`` asks for it.

    Parameters
    ----------
    l2 : float, optional
        Strength of the regularisation per row: ``(l2 · Σ sᵢ / 2) ‖w‖²`` in the place of ``(alpha / 2) ‖w‖²``.
    alpha : float, optional
        The regularisation as scikit-learn's ``Ridge`` has it. It does not change when rows leave. Default: 1, unless
        ``l2`` or ``C`` is given.
    C : float, optional
        The inverse: ``alpha = 1 / C``.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    scale : str, default="auto"
        How rows are scaled: ``"auto"``, by constants that are derived from the rows and inside the guarantee;
        ``"unit"``, ``"clip:R"``, ``"within:R"``, ``"none"`` or ``"raw"``, one row at a time, as for
        `RemovableLogisticRegression`.
    features : map, dict, or path of a schema file, optional
        What becomes of raw cells: `Text`, `Image`, `Network`, `Fourier` or `Public`, of all of X; a dict of them by
        column, the other columns being as without; or a `Schema`. Default: columns are features.
    epsilon, delta : float, default=1.0, 1e-4
        The promise for the whole life of the model.
    noise_std : float, optional
        Standard deviation of the noise per weight. Default: 0, because removal from the squared loss is exact: the
        released model is bit for bit the one that training without the removed rows gives, and epsilon and delta are 0.
        More than 4,096 features need noise.
    max_releases : int, default=4096
        Releases that the promise is shared among. With fewer, each may be less exact, which a very small ``l2`` needs.
    mechanism : {"release", "objective"}, default="release"
        ``"release"``: noise on what is published. ``"objective"``: the published algorithm, noise in the objective.
    tol : float, default=1e-9
        Gradient norm at which training ends.
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
        A seed makes the noise predictable: for tests. The model is then not certified. Without noise nothing is drawn,
        and it stays certified.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Released weights: of the columns in their own units under ``scale="auto"``, of scaled rows otherwise. Columns
        with texts or gaps have one per feature that they become.
    encoded_feature_names_ : ndarray of text
        What each weight in ``coef_`` belongs to: ``age``, ``age=?missing``, ``plan=basic``, ``plan=?other``.
    intercept_ : float
        Released intercept.
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
    RemovableRidgeClassifier : The same loss, for classes.
    RemovableLogisticRegression : The logistic loss.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from efface import RemovableRidge
    >>> X, y = make_regression(n_samples=500, n_features=8, noise=1.0, random_state=0)
    >>> model = RemovableRidge(alpha=1.0).fit(X, y)
    >>> round(model.score(X, y), 2)
    1.0
    >>> model.remove(ids=range(20))["n_changed"]
    20
    >>> model.certificate_["n_rows"]
    480
    """

    _loss = "squared"
    _numeric_labels = True

    def __init__(
        self,
        l2: float | None = None,
        alpha: float | None = None,
        C: float | None = None,
        fit_intercept: bool = True,
        scale: str = "auto",
        features: Any = None,
        epsilon: float = 1.0,
        delta: float = 1e-4,
        noise_std: float | None = None,
        max_releases: int = 4096,
        mechanism: str = "release",
        tol: float = 1e-9,
        max_sample_weight: float = 1024.0,
        auto_release: bool = True,
        copy_X: bool = False,
        include_secret_state: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.l2 = l2
        self.alpha = alpha
        self.C = C
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.features = features
        self.epsilon = epsilon
        self.delta = delta
        self.noise_std = noise_std
        self.max_releases = max_releases
        self.mechanism = mechanism
        self.tol = tol
        self.max_sample_weight = max_sample_weight
        self.auto_release = auto_release
        self.copy_X = copy_X
        self.include_secret_state = include_secret_state
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, ids: Any = None, subjects: Any = None) -> Self:
        """Add rows: train on them if there is no model yet, join them to the rows it has otherwise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Numbers.
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
            return self._fit(X, y, None, sample_weight, ids=ids, subjects=subjects)
        self._add(X, y, sample_weight, ids=ids, subjects=subjects)
        return self

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Released weights: shape (n_features,). In the columns' own units where ``scale`` is ``"auto"``."""
        return np.asarray(self._current().coef[0])

    @property
    def intercept_(self) -> float:
        """Released intercept."""
        return float(self._current().intercepts[0])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predictions for rows, by the released weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; they are scaled like those of the training.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
            One number per row.
        """
        return np.ravel(self._scores(X))

    def _encode_first(
        self, labels: NDArray[Any], classes: Any, weights: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], list[str] | None]:
        return self._encode(labels), None

    def _encode(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        return np.ascontiguousarray(labels, dtype=np.float64)
