"""What can go wrong, and what weakens a guarantee.

The compiled part raises these classes by name. Each one is also the built-in exception that users of scikit-learn
expect in its place, so that ``except ValueError`` goes on to work.
"""

from __future__ import annotations


class EffaceError(Exception):
    """The base of all exceptions of this package.

    Attributes
    ----------
    code : str or None
        The engine's stable name for what is wrong, such as ``"unknown-id"``, the same that the command line prints
        under ``--json``. None where the package itself refuses an argument. Messages may change, codes do not.
    """

    code: str | None = None


class PlanError(EffaceError, ValueError):
    """A parameter, or the combination of some, cannot be trained with."""


class RowError(EffaceError, ValueError):
    """A row is too long or not finite, or its label, id or weight is not usable."""


class UnknownIdError(EffaceError, ValueError):
    """A row or a subject was named that the model has never seen."""


class AlreadyRemovedError(EffaceError, ValueError):
    """A row or a subject was named that has been removed before."""


class RepeatedIdError(EffaceError, ValueError):
    """The same id was given twice, or to a row while another one has it."""


class LastRowError(EffaceError, ValueError):
    """Nothing would remain, or a release would be of rows of a single class."""


class SingularError(EffaceError, ValueError):
    """The strength of the regularisation is too small for these rows."""


class OutOfReachError(PlanError):
    """Rounding hides more than a release may leave open: raise ``noise_std`` or ``l2``, or promise fewer releases."""


class RowsChangedError(EffaceError, RuntimeError):
    """The array that was given to ``fit`` has been modified since; the model uses it without a copy."""


class BudgetExhaustedError(EffaceError, RuntimeError):
    """One more release would break the promise made for the model's life."""


class ReleaseHeldBackError(EffaceError, RuntimeError):
    """The model directory's policy asks for more removals, or for more time, before the next release."""


class RetrainRequiredError(EffaceError, RuntimeError):
    """What the removals have left behind is beyond the budget (mechanism ``"objective"``)."""


class SecretStateMissingError(EffaceError, RuntimeError):
    """This copy of the model can predict, but has no rows and no secret state to remove them with."""


class DirectoryError(EffaceError, OSError):
    """A model directory is missing, in use, damaged, or cannot be written."""


class UncertifiedWarning(UserWarning):
    """Nothing is promised of this model, because its randomness can be predicted."""


class GuaranteeWarning(UserWarning):
    """Something around the model was fitted on the same rows and is outside its guarantee."""


class ScaleWarning(UserWarning):
    """One column is so large that after row scaling the others barely matter."""


class StaleReleaseWarning(UserWarning):
    """The weights in use were released before the latest change of the rows."""
