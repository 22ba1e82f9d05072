# %% [markdown]
# # Defaults only
#
# Tables that nobody prepared, beside scikit-learn's usual pipeline: five folds, ten times where there are fewer than a
# thousand rows, and nothing tuned on either side.
# With a folder of data sets in `EFFACE_DATA` (docs/data.md), two raw tables of people are among them.

# %%
import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_linnerud,
    load_wine,
    make_classification,
    make_friedman1,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from efface import RemovableLogisticRegression, RemovableRidge

# %% [markdown]
# The usual pipeline: numbers are centred and scaled, texts become categories, gaps are filled.


# %%
def usual(model):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    texts = OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")), (texts, make_column_selector(dtype_exclude="number"))
    )
    return make_pipeline(columns, model)


# %% [markdown]
# The data sets: those that come with scikit-learn, two that it makes up, some that are made up here (columns of any
# size, patients with outliers, rows that are nearly empty), and raw tables.


# %%
def people():
    """Age, salary and a flag, and what they cost: columns and numbers far from zero."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": draw.integers(18, 90, 500), "salary": draw.normal(52_000, 9_000, 500), "flag": draw.integers(0, 2, 500)}
    )
    cost = 1e6 + 900 * frame["age"] + 0.4 * frame["salary"] + 5_000 * frame["flag"] + draw.normal(0, 4_000, 500)
    return frame, cost


def patients():
    """Measurements with gaps; one in a hundred is a hundred times as large as the range, as if in another unit."""
    draw = np.random.default_rng(1)
    n = 1500
    names = ["pressure", "glucose", "insulin", "bmi", "age", "creatinine"]
    health = draw.normal(size=n)
    centre = np.array([120.0, 110.0, 90.0, 28.0, 50.0, 1.1])
    spread = np.array([15.0, 25.0, 40.0, 5.0, 14.0, 0.3])
    load = np.array([0.5, 0.8, 0.4, 0.5, 0.6, 0.3])
    values = centre + spread * (load * health[:, None] + draw.normal(size=(n, len(names))))
    ill = health + 0.8 * draw.normal(size=n) > 0.5
    values = np.where(draw.random(values.shape) < 0.01, 100 * np.ptp(values, axis=0), values)
    values = np.where(draw.random(values.shape) < 0.05, np.nan, values)
    frame = pd.DataFrame(values, columns=names).assign(sex=draw.choice(["f", "m"], n))
    return frame, pd.Series(np.where(ill, "ill", "well"))


def rare_events(*, amounts):
    """Rows as libsvm files have them: 2 % of 300 columns are not 0, and 3 % of the rows are positive."""
    draw = np.random.default_rng(2)
    values = draw.random((4000, 300)) < 0.02
    values = values * draw.exponential(size=values.shape) if amounts else values.astype(float)
    weights = np.where(np.arange(300) < 40, draw.normal(2.0, 1.0, 300), 0.0)
    score = values @ weights + 0.2 * draw.normal(size=4000)
    return as_pandas(values), pd.Series((score > np.quantile(score, 0.97)).astype(int))


def tables():
    for name, load in [
        ("wine", load_wine),
        ("iris", load_iris),
        ("breast cancer", load_breast_cancer),
        ("digits", load_digits),
    ]:
        yield name, *load(return_X_y=True, as_frame=True), True
    yield "two classes of 20 columns", *map(as_pandas, make_classification(2000, n_classes=2, random_state=0)), True
    yield "diabetes", *load_diabetes(return_X_y=True, as_frame=True), False
    X, y = load_linnerud(return_X_y=True, as_frame=True)
    yield "linnerud (weight)", X, y["Weight"], False
    yield "friedman 1", *map(as_pandas, make_friedman1(2000, noise=1.0, random_state=0)), False
    yield "age, salary, flag; y near 10⁶", *people(), False
    yield "patients, outliers of 100 times the range", *patients(), True
    yield "nearly empty rows of 0 and 1, 3 % positives", *rare_events(amounts=False), True
    yield "nearly empty rows of amounts, 3 % positives", *rare_events(amounts=True), True
    if data := os.environ.get("EFFACE_DATA"):
        adult = pd.read_csv(Path(data) / "adult" / "train.csv.gz", na_values="?")
        yield "Adult, raw", adult.drop(columns="income"), adult["income"], True
        credit = pd.read_csv(Path(data) / "credit-default" / "credit.csv.gz")
        yield "credit default, raw", credit.drop(columns=["ID", "Y"]), credit["Y"], True


def as_pandas(values):
    return pd.DataFrame(values).add_prefix("x") if values.ndim == 2 else pd.Series(values)


# %% [markdown]
# Accuracy for classes, R² for numbers.

# %%
print("| data set | rows × columns | Efface | scikit-learn |")
print("|---|---|---|---|")
for name, X, y, is_classes in tables():
    # A fold of few rows says little, and a release is noisy: more folds there.
    repeats = 10 if len(X) < 1_000 else 1
    kind = RepeatedStratifiedKFold if is_classes else RepeatedKFold
    folds = kind(n_splits=5, n_repeats=repeats, random_state=0)
    ours = RemovableLogisticRegression() if is_classes else RemovableRidge()
    theirs = LogisticRegression(max_iter=10_000) if is_classes else Ridge()
    scores = [cross_val_score(model, X, y, cv=folds).mean() for model in (ours, usual(theirs))]
    print(f"| {name} | {X.shape[0]:,} × {X.shape[1]} | {scores[0]:.3f} | {scores[1]:.3f} |", flush=True)
