"""The estimators' common part: training, and what a model says about itself.

``fit`` trains and releases. Changes of the rows (``remove``, ``correct``, ``partial_fit``) take milliseconds and touch
the secret state only; the first use of the weights after them releases anew. Nothing that concerns a guarantee is
decided here: arguments are checked and converted, the engine is called, its reports are handed on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from efface import _efface, _secret
from efface._changes import Changes
from efface._exceptions import GuaranteeWarning, PlanError, ScaleWarning, UncertifiedWarning
from efface._export import Exports
from efface._foundation import Report
from efface._given import _context, _input, _naming, _parameters
from efface._persistence import Persistent
from efface._progress import Progress
from efface._warn import warn

if TYPE_CHECKING:
    from typing_extensions import Self


class RemovableLinearModel(TransformerMixin, Changes, Persistent, Exports):
    """A linear model that can forget; the base of the public estimators."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, ids: Any = None, subjects: Any = None) -> Self:
        """Train on rows, and release.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. A NumPy array in C order and single or double precision is used without a copy, a memory-mapped one
            too: it must not be modified while the model lives, unless ``copy_X=True``. Arrow tables and record
            batches, pandas and polars frames are taken as well; under ``scale="auto"`` with texts, categories, dates
            and missing values. With ``features``, whatever its maps take: texts, pictures, arrays of images.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight s counts as s rows; from 0 to ``max_sample_weight``.
        ids : array-like of shape (n_samples,) or str, optional
            What ``remove`` will call the rows: integers or text, each once, in the order of the rows; or the name of
            the column of X that holds them, which is then no feature. Default: the labels of X's index, where X is a
            pandas frame, and 0, 1, 2, … otherwise.
        subjects : array-like of shape (n_samples,) or str, optional
            Whose row each one is: integers or text, or the name of a column. All rows of a subject can be removed at
            once.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, None, sample_weight, ids=ids, subjects=subjects)

    def plan(self, X: Any = None, y: Any = None, *, n_rows: int | None = None, n_features: int | None = None) -> Report:
        """What a promise of ``epsilon`` and ``delta`` costs at several levels of noise, before training.

        Parameters
        ----------
        X, y : array-like, optional
            Rows to measure it on.
        n_rows, n_features : int, optional
            The size of the problem, where there are no rows yet. For a fitted model its own by default.

        Returns
        -------
        plan : dict
            A line per level of noise under ``"rows"``.
        """
        trial = clone(self)
        if X is not None:
            if self.__sklearn_is_fitted__():
                X = _input.features(self, X)
            rows, labels = _input.training_rows(trial, X, y, numeric=self._numeric_labels)
            encoded, classes = trial._encode_first(labels, None, None)
            config = trial._config(rows.data)
            encoding = getattr(trial, "_encoding", None)
            features = None if encoding is None else encoding.encoder
            report: Report = json.loads(
                _efface.plan(config, rows=rows.data, labels=encoded, classes=classes, features=features)
            )
            return report
        if self.__sklearn_is_fitted__():
            n_features = len(_input.feature_names(self)) if n_features is None else n_features
            n_rows = self.status_.get("n_rows") if n_rows is None else n_rows
        if n_rows is None or n_features is None:
            raise ValueError(f"plan needs X and y, or n_rows and n_features, got {n_rows=} and {n_features=}")
        config = trial._config(None)
        dim = int(n_features) + bool(self.fit_intercept)
        report = json.loads(_efface.plan(config, n_rows=int(n_rows), dim=dim))
        return report

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Rows as the weights take them: scaled, texts as categories, gaps as features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scaled : ndarray of shape (n_samples, n_encoded_features)
            One column per feature of the released model, as ``to_json()`` names them under ``"features"``.
        """
        released = self._current()
        rows = _input.plain_rows(self, X)
        return _efface.transform(
            rows.data,
            scale=released.scale,
            intercept=released.intercept,
            published=released.derived,
            n_threads=_parameters.n_threads(self.n_jobs),
        )

    @property
    def encoded_feature_names_(self) -> NDArray[Any]:
        """What each weight in ``coef_`` belongs to.

        A column of numbers has its own name, its gaps ``age=?missing``; a category ``plan=basic``, rarer texts together
        ``plan=?other``. A column that tells no rows apart has its name, and the weight 0. Without texts and gaps these
        are the names of the columns.
        """
        return np.asarray(self._current().names, dtype=object)

    @property
    def status_(self) -> Report:
        """What the model is and what it claims now, as a dict: for whoever operates it, not for publishing.

        There are no weights and no rows in it, but all digits of the residual and of the distance, and under ``n_iter``
        the passes over the rows that the training made (None: trained elsewhere). These depend on rows that have left
        and are not covered by the guarantee.
        """
        check_is_fitted(self)
        secret = _secret.find(self)
        status: Report = {} if secret is None else json.loads(secret.engine.status())
        if secret is not None:
            status["n_iter"] = json.loads(secret.engine.description())["n_iter"]
        status["secret_state"] = secret is not None
        status["stale"] = self._is_stale()
        status["path"] = self._path()
        return status

    @property
    def certificate_(self) -> Report:
        """The fields of the certificate that the released weights came with, as a dict."""
        return self._current().claims()

    def _fit(self, X: Any, y: Any, classes: Any, sample_weight: Any, *, ids: Any, subjects: Any) -> Self:
        before = dict(self.__dict__)
        try:
            secret = self._train(_naming.first(X, y, ids=ids, subjects=subjects), y, classes, sample_weight)
            released = secret.engine.release(secret.next_seed())
        except BaseException:
            # Keep the previous fit.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        previous = _secret.find(self)
        _secret.keep(self, secret)
        self._take(secret, released)
        for mark in ("_closed_path", "_stale"):
            self.__dict__.pop(mark, None)
        if previous is not None:
            previous.engine.close()
        return self

    def _train(self, named: _naming.Named, y: Any, classes: Any, sample_weight: Any) -> _secret.Secret:
        rows, labels = _input.training_rows(self, named.X, y, numeric=self._numeric_labels)
        weights = _input.sample_weights(sample_weight, rows, _parameters.max_sample_weight(self))
        encoded, names = self._encode_first(labels, classes, weights)
        config = self._config(rows.data)
        encoding = getattr(self, "_encoding", None)
        self._named_columns = dict(named.columns)
        self.__dict__.pop("_made_up_names", None)
        seed = self._seed(config)
        context = _context.enclosing()
        title = f"fit {type(self).__name__}"
        with Progress(title, bool(self.verbose)) as progress:
            engine = _efface.Engine.fit(
                rows.data,
                encoded,
                config=config,
                feature_names=_input.feature_names(self),
                naming=named.description(_input.given_names(self)),
                classes=names,
                row_weights=weights,
                ids=named.column("ids", rows.n_rows),
                subjects=named.column("subjects", rows.n_rows),
                features=None if encoding is None else encoding.encoder,
                extractor_group=None if encoding is None else encoding.extractor_group,
                outside_scope=[finding.tag for finding in context.findings],
                copy=bool(self.copy_X),
                seed=seed,
                n_threads=_parameters.n_threads(self.n_jobs),
                progress=progress.callback,
            )
        if engine.remark is not None:
            warn(f"{engine.remark}; bring columns to similar sizes by public constants, or leave it out", ScaleWarning)
        if not context.is_trial:
            for finding in context.findings:
                if finding.text is not None:
                    warn(f"outside the guarantee of this model: {finding.text}", GuaranteeWarning)
        return _secret.Secret(engine, seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Texts are taken in frames; an array of them is refused, so that `string` stays false.
        tags.input_tags.allow_nan = tags.input_tags.categorical = self.scale == "auto"
        if self.features is not None:
            tags.input_tags.string = tags.input_tags.one_d_array = tags.input_tags.three_d_array = True
        return tags

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Scores of rows under the released weights, one column per problem."""
        released = self._current()
        rows = _input.plain_rows(self, X)
        return _efface.decision(
            rows.data,
            released.weights,
            scale=released.scale,
            intercept=released.intercept,
            published=released.derived,
            n_threads=_parameters.n_threads(self.n_jobs),
        )

    def _config(self, rows: Any) -> str:
        """The engine's configuration for these rows (None: rows yet to come)."""
        scale = _parameters.declared_scale(self)
        config = _parameters.config(self, loss=self._loss, scale=scale)
        if scale == "raw" and _efface.draws_noise(config):
            if rows is None:
                raise PlanError(
                    'with noise, scale="raw" takes its bound from the rows: give X and y, or a scale such as "within:8"'
                )
            scale = _parameters.raw_scale(_efface.longest_row(rows))
            config = _parameters.config(self, loss=self._loss, scale=scale)
        return config

    def _seed(self, config: str) -> int | None:
        if self.random_state is None or not _efface.draws_noise(config):
            return None
        warn(
            "random_state is given: whoever knows it can take the noise off the released weights, so the model is not "
            "certified. Leave it None for a model whose removals are to be proved",
            UncertifiedWarning,
        )
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
