# %% [markdown]
# # Embeddings and a removable head
#
# A public, pre-trained encoder turns sentences into vectors; only the linear head learns from the rows. So the head is
# all that has to forget. The features are those of the Stanford Sentiment Treebank (`docs/data.md` says what is in the
# folder that `EFFACE_DATA` names, and where it is published).

# %%
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import efface
from efface import RemovableLogisticRegression

folder = Path(os.environ.get("EFFACE_DATA", ".")) / "sst-features"
if not folder.is_dir():
    sys.exit(f"{folder} is missing: set EFFACE_DATA to a folder with sst-features, see docs/data.md")


def read(split):
    X = np.load(folder / f"{split}-x.npy").astype(np.float32)
    return X, np.array(["negative", "positive"])[np.load(folder / f"{split}-y.npy")]


X, y = read("train")
X_test, y_test = read("test")
print(f"{len(X)} sentences, {X.shape[1]} features, {X.nbytes / 1e6:.0f} MB")

# %% [markdown]
# The rows have norm 1 already; `scale="unit"` makes sure of it. Single precision goes down without a copy.

# %%
begin = time.perf_counter()
head = RemovableLogisticRegression(l2=1e-4, fit_intercept=False).fit(X, y, ids=[f"sentence-{i}" for i in range(len(X))])
print(f"fit in {time.perf_counter() - begin:.2f} s, test accuracy {head.score(X_test, y_test):.2%}")
peer = LogisticRegression(C=1 / (1e-4 * len(X)), fit_intercept=False, max_iter=1000).fit(X, y)
print(f"scikit-learn, without noise:  test accuracy {peer.score(X_test, y_test):.2%}")

# %% [markdown]
# Which sentences would move the head most, if they left? The numbers come from the secret weights: they are for looking
# at, not for publishing.

# %%
influence = head.influence()
most = np.argsort(influence)[::-1]
print(f"influence: median {np.median(influence):.2e}, largest {influence[most[0]]:.2e} (sentence {most[0]})")

# %% [markdown]
# Remove the thousand most influential ones, one request each: the hardest case there is.

# %%
begin = time.perf_counter()
for i in most[:1000]:
    head.remove(ids=f"sentence-{i}")
each = (time.perf_counter() - begin) / 1000
begin = time.perf_counter()
certificate = head.release()
print(f"{1e3 * each:.2f} ms per removal, {time.perf_counter() - begin:.2f} s for the release that covers them")
print(f"epsilon spent: {certificate['epsilon_spent']:.4f} of {certificate['epsilon']:g}")
print(f"test accuracy {head.score(X_test, y_test):.2%}")

kept = np.setdiff1d(np.arange(len(X)), most[:1000])
retrained = RemovableLogisticRegression(l2=1e-4, fit_intercept=False).fit(X[kept], y[kept])
print(
    f"largest difference of scores to a retrained head: "
    f"{np.abs(head.decision_function(X_test) - retrained.decision_function(X_test)).max():.1e}"
)

# %% [markdown]
# The head moves into a model directory, where the command line works on it too, and leaves as files for serving.

# %%
with tempfile.TemporaryDirectory() as out:
    head.save(Path(out) / "head.efface")
    head.close()
    with efface.open(Path(out) / "head.efface") as again:
        again.remove(ids=f"sentence-{most[1000]}")
        again.to_json(Path(out) / "head.json")
        files = ", ".join(sorted(path.name for path in Path(out).iterdir()))
        print(f"rows left: {again.status_['n_rows']}; files: {files}")
