# %% [markdown]
# # Erasing a customer from the Adult model
#
# Census income (UCI Adult), one row a person: numbers and categories by public constants, a removable model on them,
# one person erased, and pictures of what that does. `EFFACE_DATA` names the folder with the data (`docs/data.md`);
# the pictures go to the folder given as first argument.

# %%
import os
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from efface import RemovableLogisticRegression

folder = Path(os.environ.get("EFFACE_DATA", ".")) / "adult"
if not folder.is_dir():
    sys.exit(f"{folder} is missing: set EFFACE_DATA to a folder with adult, see docs/data.md")
out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
out.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# Nothing is fitted on the rows: ranges and the lists of values are those of the census's own documentation, not what
# this table happens to hold. A `StandardScaler` here would remember everybody; in a Pipeline the model warns about it.

# %%
RANGES = {
    "age": (0, 100),
    "education-num": (0, 16),
    "capital-gain": (0, 20_000),
    "capital-loss": (0, 5_000),
    "hours-per-week": (0, 100),
}
VALUES = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked ?",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces ?",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
}
FLAGS = [(name, value) for name, values in VALUES.items() for value in values.split()]
train, test = (pd.read_csv(folder / f"{split}.csv.gz") for split in ("train", "test"))


def encode(table):
    numbers = [(2 * table[name].clip(*span) - sum(span)) / (span[1] - span[0]) for name, span in RANGES.items()]
    flags = [table[name] == value for name, value in FLAGS]
    names = [*RANGES, *(f"{name}={value}" for name, value in FLAGS)]
    return pd.DataFrame(np.column_stack([*numbers, *flags]).astype(float), columns=names)


X, y = encode(train), train["income"]
X_test, y_test = encode(test), test["income"]
customers = [f"customer-{i}" for i in range(len(X))]

# %%
model = RemovableLogisticRegression(l2=2e-5, scale="clip:3").fit(X, y, ids=customers)
peer = LogisticRegression(max_iter=2000).fit(X, y)
print(f"{len(X)} people, {X.shape[1]} features")
print(
    f"test accuracy {model.score(X_test, y_test):.2%}, scikit-learn without a promise {peer.score(X_test, y_test):.2%}"
)

# %% [markdown]
# Whom would the model miss most?

# %%
influence = model.influence()
customer = int(np.argmax(influence))
print(f"the most influential person is customer-{customer}:")
print(train.loc[customer, ["age", "education", "occupation", "hours-per-week", "income"]].to_string())

plt.figure(figsize=(7, 4))
plt.hist(np.log10(influence), bins=80, color="#4878a8")
plt.axvline(np.log10(influence[customer]), color="#c44e52", label=f"customer-{customer}")
plt.axvline(-3, color="black", linestyle=":", label="noise per weight")
plt.xlabel("how far the weights move when a person leaves (log10)")
plt.ylabel("people")
plt.legend()
plt.tight_layout()
plt.savefig(out / "influence.png", dpi=120)

# %% [markdown]
# Erase that person, and compare what is released with a model that never saw them.

# %%
before = pd.Series(model.coef_[0], X.columns)
report = model.remove(ids=f"customer-{customer}", request_id="ticket-1")
certificate = model.certificate_
after = pd.Series(model.coef_[0], X.columns)
never = RemovableLogisticRegression(l2=2e-5, scale="clip:3").fit(X.drop(index=customer), y.drop(index=customer))
print(
    f"removed {report['n_changed']} row; epsilon spent {certificate['epsilon_spent']:.4f} of {certificate['epsilon']:g}"
)

shown = (after - before).abs().nlargest(15).index
position = np.arange(len(shown))
plt.figure(figsize=(8, 5))
plt.barh(position - 0.27, before[shown], 0.27, label="before", color="#bbbbbb")
plt.barh(position, after[shown], 0.27, label="after the removal", color="#4878a8")
plt.barh(position + 0.27, pd.Series(never.coef_[0], X.columns)[shown], 0.27, label="never saw them", color="#6aa56e")
plt.yticks(position, shown)
plt.gca().invert_yaxis()
plt.xlabel("released weight, of the 15 that moved most")
plt.legend()
plt.tight_layout()
plt.savefig(out / "weights.png", dpi=120)

# %% [markdown]
# Then two thousand more people leave, a hundred at a time. The accuracy does not notice, and each release spends the
# same small part of the promise.

# %%
rng = np.random.default_rng(0)
leaving = rng.permutation(np.setdiff1d(np.arange(len(X)), [customer]))[:2000]
gone, accuracy, spent = [1], [model.score(X_test, y_test)], [certificate["epsilon_spent"]]
for group in np.array_split(leaving, 20):
    model.remove(ids=[customers[i] for i in group])
    accuracy.append(model.score(X_test, y_test))
    spent.append(model.certificate_["epsilon_spent"])
    gone.append(model.certificate_["n_removed"])

figure, (top, bottom) = plt.subplots(2, 1, sharex=True, figsize=(7, 5))
top.plot(gone, 100 * np.array(accuracy), color="#4878a8")
top.axhline(100 * peer.score(X_test, y_test), color="black", linestyle=":", label="scikit-learn on everybody")
top.set_ylabel("test accuracy, %")
top.legend()
bottom.plot(gone, spent, color="#c44e52")
bottom.set_ylabel("epsilon spent (promised: 1)")
bottom.set_xlabel("people removed")
figure.tight_layout()
figure.savefig(out / "removals.png", dpi=120)
print(f"after {gone[-1]} removals: test accuracy {accuracy[-1]:.2%}, epsilon spent {spent[-1]:.4f}")
print(f"pictures: {', '.join(sorted(path.name for path in out.glob('*.png')))}")
