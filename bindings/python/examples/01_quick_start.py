# %% [markdown]
# # Quick start: a model that can forget
#
# Train as with scikit-learn, remove a person, look at the certificate.

# %%
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from efface import RemovableLogisticRegression

# %% [markdown]
# Ten thousand rows, a quarter of them kept for testing; the others are those of 1,500 people, five rows each.

# %%
X, y = make_classification(n_samples=10_000, n_features=50, n_informative=20, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
people = np.array([f"person-{i // 5}" for i in range(len(X))])

model = RemovableLogisticRegression(l2=1e-4)
model.fit(X, y, subjects=people)
print(f"accuracy                    {model.score(X_test, y_test):.1%}")
print(f"accuracy of scikit-learn    {LogisticRegression(max_iter=1000).fit(X, y).score(X_test, y_test):.1%}")

# %% [markdown]
# Somebody asks to be forgotten. The removal is one Newton step; it makes no pass over the rows.

# %%
begin = time.perf_counter()
report = model.remove(subjects="person-17")
print(f"removed {report['n_changed']} rows in {1e3 * (time.perf_counter() - begin):.2f} ms")

# %% [markdown]
# The next look at the weights releases them anew: what the step left is settled, fresh noise is added, and a
# certificate is issued.

# %%
certificate = model.certificate_
print(f"promised for the model's life: epsilon = {certificate['epsilon']:g}, delta = {certificate['delta']:g}")
print(f"spent so far:                  epsilon = {certificate['epsilon_spent']:.4f}")
print(f"rows removed:                  {certificate['n_removed']}")
print(f"outside the scope:             {', '.join(certificate['outside_scope'])}")

# %% [markdown]
# How close are the weights to those of a model that never saw the person? The noise is all that tells them apart.

# %%
kept = people != "person-17"
other = RemovableLogisticRegression(l2=1e-4).fit(X[kept], y[kept])
difference = np.std(model.coef_ - other.coef_)
print(f"difference per weight          {difference:.4f} (two draws of noise of 0.001 differ by 0.0014)")
assert difference < 0.005

# %% [markdown]
# A wrong row is corrected in the same way, and new rows are added.

# %%
model.correct([3], X[3:4] * 0.5, y[3:4])
model.partial_fit(X_test[:10], y_test[:10], subjects=["newcomer"] * 10)
print(f"rows now                       {model.status_['n_rows']}")
print(f"accuracy                       {model.score(X_test, y_test):.1%}")
