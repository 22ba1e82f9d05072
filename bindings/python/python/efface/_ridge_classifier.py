"""Ridge classification that can forget."""

from __future__ import annotations

from typing import Any

from efface._classifier import RemovableClassifier


class RemovableRidgeClassifier(RemovableClassifier):
    """A ridge classifier whose rows can be removed, with a certificate.

    Ridge regression on targets −1 and 1, one class against the others beyond two; the class of the largest score wins.
    Rows are removed from the squared loss exactly.

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
        A seed makes the noise predictable: for tests. The model is then not certified. Without noise nothing is drawn,
        and it stays certified.
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
    RemovableRidge : The same loss, for numbers.
    RemovableLogisticRegression : The logistic loss, which gives probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from efface import RemovableRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RemovableRidgeClassifier(l2=1e-5, scale="clip:10").fit(X, y)
    >>> model.remove(ids=7)["n_changed"]
    1
    >>> model.coef_.shape
    (3, 4)
    """

    _loss = "squared"

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
        self.class_weight = class_weight
        self.max_sample_weight = max_sample_weight
        self.auto_release = auto_release
        self.copy_X = copy_X
        self.include_secret_state = include_secret_state
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
