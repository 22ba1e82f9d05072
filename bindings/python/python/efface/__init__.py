"""Linear models that can forget: scikit-learn estimators with certified removal of rows.

Train as always, with a name for every row. When somebody asks to be forgotten, ``remove`` takes their rows out of the
model in milliseconds, and every weight that is shown afterwards comes with a certificate that it is statistically
indistinguishable from a model that never saw them.

>>> import numpy as np
>>> from efface import RemovableLogisticRegression
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(1000, 5))
>>> y = X[:, 0] + 0.3 * rng.normal(size=1000) > 0
>>> model = RemovableLogisticRegression().fit(X, y, ids=np.arange(1000))
>>> report = model.remove(ids=[17, 42])
>>> model.certificate_["n_removed"]
2
"""

from efface._directory import open as open
from efface._efface import __version__
from efface._exceptions import (
    AlreadyRemovedError,
    BudgetExhaustedError,
    DirectoryError,
    EffaceError,
    GuaranteeWarning,
    LastRowError,
    OutOfReachError,
    PlanError,
    ReleaseHeldBackError,
    RepeatedIdError,
    RetrainRequiredError,
    RowError,
    RowsChangedError,
    ScaleWarning,
    SecretStateMissingError,
    SingularError,
    StaleReleaseWarning,
    UncertifiedWarning,
    UnknownIdError,
)
from efface._features._maps import Fourier, Image, Network, Schema, Text
from efface._features._public import Public
from efface._logistic import RemovableLogisticRegression
from efface._ridge import RemovableRidge
from efface._ridge_classifier import RemovableRidgeClassifier

# Without `open`: `from efface import *` must not take the place of the built-in one.
__all__ = [
    "AlreadyRemovedError",
    "BudgetExhaustedError",
    "DirectoryError",
    "EffaceError",
    "Fourier",
    "GuaranteeWarning",
    "Image",
    "LastRowError",
    "Network",
    "OutOfReachError",
    "PlanError",
    "Public",
    "ReleaseHeldBackError",
    "RemovableLogisticRegression",
    "RemovableRidge",
    "RemovableRidgeClassifier",
    "RepeatedIdError",
    "RetrainRequiredError",
    "RowError",
    "RowsChangedError",
    "ScaleWarning",
    "Schema",
    "SecretStateMissingError",
    "SingularError",
    "StaleReleaseWarning",
    "Text",
    "UncertifiedWarning",
    "UnknownIdError",
    "__version__",
]
