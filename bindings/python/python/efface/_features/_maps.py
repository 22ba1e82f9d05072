"""What users write: one class per map, with the keys of a schema. Each is a stateless transformer, too."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from efface._exceptions import PlanError

if TYPE_CHECKING:
    from typing_extensions import Self

Path = str | os.PathLike[str]
Entry = dict[str, Any]


class Map(TransformerMixin, BaseEstimator):
    """A map that takes one row at a time; ``fit`` does nothing."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: nothing is read off rows.

        Parameters
        ----------
        X, y : object
            Not looked at.

        Returns
        -------
        self : object
            The map.
        """
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Features of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, …)
            Raw cells: texts, pictures, numbers.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features)
            The features that a model with ``features=`` would have.
        """
        from efface._features._encoding import Encoding

        encoding = Encoding.of(self, X)
        if encoding.is_private:
            raise PlanError(
                "a network with a statement has seen the rows, and what that costs is part of a model's promise: give "
                "it to the model as features=, not as a step before it"
            )
        features: NDArray[Any] = encoding.encode(X).to_numpy()
        return features

    def entry(self) -> Entry:
        """The entry of a column in a schema, without its name."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        return tags


class Text(Map):
    """Hashed n-grams of texts: counts of words and of pieces of words, added up with random signs under their hashes.

    Without a vocabulary, so fixed before any row is seen: nothing is added to ε.

    Parameters
    ----------
    buckets : int
        Number of features, a power of two.
    words : (int, int), optional
        N-grams of so many words: ``(1, 2)`` are words and pairs of words, which is the default unless ``characters`` is
        given.
    characters : (int, int), optional
        N-grams of so many characters, within words.
    binary : bool, default=False
        Whether an n-gram counts once, however often it is there.
    seed : int, default=0
        Another seed gives other hashes.
    missing : {"error", "zero", "slot"}, default="error"
        What an empty text or None becomes: refused, no features, or a feature of its own.

    Examples
    --------
    >>> import efface
    >>> texts = ["a fine film", "dull and endless", "fine and moving", "a dull film"] * 25
    >>> liked = [True, False, True, False] * 25
    >>> model = efface.RemovableLogisticRegression(C=100.0, features=efface.Text(256)).fit(texts, liked)
    >>> bool(model.predict(["a moving film"])[0])
    True
    """

    def __init__(
        self,
        buckets: int = 4096,
        *,
        words: Sequence[int] | None = None,
        characters: Sequence[int] | None = None,
        binary: bool = False,
        seed: int = 0,
        missing: str = "error",
    ) -> None:
        self.buckets = buckets
        self.words = words
        self.characters = characters
        self.binary = binary
        self.seed = seed
        self.missing = missing

    def entry(self) -> Entry:
        """The entry of a column in a schema, without its name."""
        return _without_none(
            kind="text",
            buckets=_whole(self.buckets, "buckets"),
            words=_pair(self.words, "words"),
            characters=_pair(self.characters, "characters"),
            binary=bool(self.binary),
            seed=_whole(self.seed, "seed"),
            missing=self.missing,
        )


class Image(Map):
    """Scattering: how much of each of eight directions and two sizes there is in each cell of 4 × 4 pixels.

    Fixed, so nothing is added to ε. Brightness and contrast make no difference.

    Parameters
    ----------
    height, width : int
        Size of the images; multiples of 4.
    channels : {1, 3}, default=3
        Grey, or red, green and blue.
    resize : bool, default=False
        Whether PNG and JPEG pictures of another size are resized; they are refused otherwise.
    missing : {"error", "zero", "slot"}, default="error"
        What None becomes.

    Examples
    --------
    >>> import efface
    >>> from sklearn.datasets import load_digits
    >>> images, digits = load_digits(return_X_y=True)
    >>> model = efface.RemovableRidgeClassifier(features=efface.Image(8, 8, channels=1), alpha=0.01)
    >>> bool(model.fit(images[:600], digits[:600]).score(images[600:800], digits[600:800]) > 0.9)
    True
    """

    def __init__(
        self, height: int = 32, width: int = 32, channels: int = 3, *, resize: bool = False, missing: str = "error"
    ) -> None:
        self.height = height
        self.width = width
        self.channels = channels
        self.resize = resize
        self.missing = missing

    def entry(self) -> Entry:
        """The entry of a column in a schema, without its name."""
        return {"kind": "image", **_size(self), "missing": self.missing}


class Network(Map):
    """The first output of an ONNX file, divided by its norm; run by ONNX Runtime (``pip install onnxruntime``).

    Parameters
    ----------
    file : str or path-like
        The network, of pictures or of texts.
    origin : {"public"}, optional
        ``"public"``: your word that none of your rows was among those that it was trained on; certificates say that it
        is your word. Without it, and without a statement, it is outside the guarantee.
    statement : str or path-like, optional
        How it was trained on the rows, with differential privacy: ε is computed from it, and part of the promise.
    extractor_group : int, optional
        For how many rows that share is in the promise, 1 by default. The first row removed beyond it ends the releases.
    tokenizer : str or path-like, optional
        For texts: the file that says how texts become tokens.
    max_tokens : int, optional
        Longer texts are cut off.
    height, width, channels : int, optional
        For pictures: their size. Three channels by default.
    resize : bool, default=False
        Whether PNG and JPEG pictures of another size are resized.
    mean, deviation : sequence of float, optional
        A pixel goes in as (pixel / 255 − mean) / deviation, one number of each per channel; 0 and 1 by default.
    missing : {"error", "zero", "slot"}, default="error"
        What None, or an empty text, becomes.
    """

    def __init__(
        self,
        file: Path,
        *,
        origin: str | None = None,
        statement: Path | None = None,
        extractor_group: int | None = None,
        tokenizer: Path | None = None,
        max_tokens: int | None = None,
        height: int | None = None,
        width: int | None = None,
        channels: int | None = None,
        resize: bool = False,
        mean: Sequence[float] | None = None,
        deviation: Sequence[float] | None = None,
        missing: str = "error",
    ) -> None:
        self.file = file
        self.origin = origin
        self.statement = statement
        self.extractor_group = extractor_group
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.height = height
        self.width = width
        self.channels = channels
        self.resize = resize
        self.mean = mean
        self.deviation = deviation
        self.missing = missing

    def entry(self) -> Entry:
        """The entry of a column in a schema, without its name."""
        return _without_none(
            kind="network",
            file=_absolute(self.file),
            origin=self.origin,
            statement=_absolute(self.statement),
            tokenizer=_absolute(self.tokenizer),
            max_tokens=self.max_tokens,
            **_size(self),
            mean=_numbers(self.mean),
            deviation=_numbers(self.deviation),
            missing=self.missing,
        )


class Fourier(Map):
    """Random Fourier features: random cosines, whose inner products approximate a Gaussian kernel.

    Fixed, so nothing is added to ε. A linear model on them is a kernel machine whose rows can be removed.

    Parameters
    ----------
    width : int
        Number of features.
    length_scale : float
        The distance at which two rows become unlike each other. No row's features are scaled by what other rows are:
        bring numbers to similar sizes by public constants before, or by the ranges of ``of``.
    seed : int, default=0
        Public; another seed gives other cosines.
    of : Map or dict, optional
        What they are of: the features of another map, or of several columns, as in ``features=``. Default: numbers, as
        they are.

    Examples
    --------
    >>> import efface
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> model = efface.RemovableLogisticRegression(C=100.0, features=efface.Fourier(300, 0.5)).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    def __init__(self, width: int = 1024, length_scale: float = 1.0, *, seed: int = 0, of: Any = None) -> None:
        self.width = width
        self.length_scale = length_scale
        self.seed = seed
        self.of = of

    def layer(self) -> Entry:
        """The layer of a schema."""
        return {
            "width": _whole(self.width, "width"),
            "length_scale": float(self.length_scale),
            "seed": _whole(self.seed, "seed"),
        }


class Schema(Map):
    """A schema, as the command line has it: columns of all kinds, maps among them.

    Parameters
    ----------
    file : str, path-like or dict
        A schema file (TOML), or what stands in one.
    networks : sequence of str or path-like
        Files and folders where networks are that it knows by their digests.
    extractor_group : int, optional
        As of `Network`.
    """

    def __init__(
        self,
        file: Path | Mapping[str, Any],
        *,
        networks: Sequence[Path] = (),
        extractor_group: int | None = None,
    ) -> None:
        self.file = file
        self.networks = networks
        self.extractor_group = extractor_group


def _without_none(**entry: Any) -> Entry:
    return {key: value for key, value in entry.items() if value is not None}


def _size(image: Image | Network) -> Entry:
    sizes = {name: getattr(image, name) for name in ("height", "width", "channels")}
    given = {name: _whole(value, name) for name, value in sizes.items() if value is not None}
    return {**given, "resize": True} if image.resize else given


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise PlanError(f"{name} must be an integer of at least 0, got `{value!r}`")
    return int(value)


def _pair(value: Any, name: str) -> list[int] | None:
    if value is None:
        return None
    pair = list(value) if isinstance(value, Sequence) else []
    if len(pair) != 2:
        raise PlanError(f"{name} must be a pair of integers, the shortest and the longest n-gram, got `{value!r}`")
    return [_whole(n, name) for n in pair]


def _numbers(values: Any) -> list[float] | None:
    return None if values is None else [float(value) for value in np.ravel(values)]


def _absolute(path: Path | None) -> str | None:
    return None if path is None else os.path.abspath(os.fspath(path))
