"""What scikit-learn's LogisticRegression reaches on Adult and credit-default, encoded by their schemas.

    pip install numpy scikit-learn
    python reference.py FOLDER > reference.json

FOLDER holds adult/ and credit-default/ as EFFACE_DATA does. The encoding of docs/schema.md is written here once more, in
Python, so that names and sums of the columns in reference.json check the program's encoding too.

Ours minimises  sum loss + l2*n/2*|w|^2  over rows divided by R (--scale clip:R; no row is longer), with a constant 1
appended for the intercept, which is part of w. Three models are measured on the same encoding:

- same_objective: the constant as a column, fit_intercept=False, C = 1/(l2*n): the same minimiser as ours
- free_intercept: rows divided by R, fit_intercept=True, C = 1/(l2*n): the intercept is not penalised
- default:        LogisticRegression() as it comes (C = 1) on the encoding before it is divided by R
"""

import csv
import gzip
import hashlib
import json
import math
import sys
import tomllib
from pathlib import Path

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression

HERE = Path(__file__).parent


def canonical(text):
    text = text.strip()
    head, dot, tail = text.rpartition(".")
    digits = head.removeprefix("-")
    if dot and tail == "0" and digits.isdigit() and (digits[0] != "0" or head == "0"):
        return head
    return text


def spelling(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return canonical(str(value))


def encode(schema, rows):
    """One column of numbers per feature, by docs/schema.md."""
    markers = {canonical(marker) for marker in schema.get("missing_markers", [])}
    names, columns = [], []
    for entry in schema["column"]:
        name, kind = entry["name"], entry["kind"]
        cells = [canonical(row[name]) for row in rows]
        missing = np.array([cell == "" or cell in markers for cell in cells])
        when_missing = entry.get("missing", "error")
        if missing.any() and when_missing == "error":
            raise ValueError(f"{name}: missing value")
        present = [None if gone else cell for cell, gone in zip(cells, missing)]
        if kind == "numeric":
            low, high = entry["range"]
            x = np.array([0.0 if cell is None else float(cell) for cell in present])
            x = np.clip(x, low, high)
            x = ((x - low) - (high - x)) / (high - low)
            x[missing] = 0.0
            names.append(name)
            columns.append(x)
        elif kind == "categorical":
            values = [spelling(value) for value in entry["values"]]
            known = set(values)
            for value in values:
                names.append(f"{name}={value}")
                columns.append(np.array([float(cell == value) for cell in present]))
            if entry.get("unknown", "slot") == "slot":
                names.append(f"{name}=?unknown")
                columns.append(np.array([float(cell is not None and cell not in known) for cell in present]))
        elif kind == "hashed":
            n = entry["buckets"]

            def bucket(cell):
                digest = hashlib.sha256(name.encode() + b"\0" + cell.encode()).digest()
                return int.from_bytes(digest[:8], "little") % n

            at = np.array([-1 if cell is None else bucket(cell) for cell in present])
            for i in range(n):
                names.append(f"{name}#{i}")
                columns.append((at == i).astype(float))
        else:
            raise ValueError(f"{name}: kind {kind} is not needed here")
        if when_missing == "slot":
            names.append(f"{name}=?missing")
            columns.append(missing.astype(float))
    return names, np.column_stack(columns)


def read(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def accuracy(model, x, y):
    return float((model.predict(x) == y).mean())


def measure(train, test, schema_file, radius, l2):
    schema = tomllib.loads((HERE / schema_file).read_text(encoding="utf-8"))
    label = schema["label"]
    names, x = encode(schema, train)
    _, x_test = encode(schema, test)
    y, y_test = (np.array([row[label].strip() for row in rows]) for rows in (train, test))
    assert np.sqrt((x * x).sum(axis=1)).max() <= radius, "rows would be shortened"
    n = len(y)
    c = 1.0 / (l2 * n)
    ones = lambda rows: np.column_stack([rows / radius, np.ones(len(rows))])
    options = {"tol": 1e-10, "max_iter": 100_000, "solver": "newton-cholesky"}
    same = LogisticRegression(C=c, fit_intercept=False, **options).fit(ones(x), y)
    free = LogisticRegression(C=c, **options).fit(x / radius, y)
    default = LogisticRegression(max_iter=10_000).fit(x, y)
    return {
        "schema": schema_file,
        "n_train": n,
        "n_test": len(y_test),
        "scale": f"clip:{radius}",
        "l2": l2,
        "majority": float(max((y_test == value).mean() for value in set(y_test))),
        "same_objective": accuracy(same, ones(x_test), y_test),
        "free_intercept": accuracy(free, x_test / radius, y_test),
        "default": accuracy(default, x_test, y_test),
        "same_objective_weights_norm": float(np.linalg.norm(same.coef_)),
        "features": names,
        "train_column_sums": [math.fsum(column) for column in x.T],
    }


def main(folder):
    folder = Path(folder)
    adult = measure(
        read(folder / "adult/train.csv.gz"),
        read(folder / "adult/test.csv.gz"),
        "../../../efface-reproduce/src/data/adult.toml",
        radius=4,
        l2=2e-6,
    )
    rows = read(folder / "credit-default/credit.csv.gz")
    held_out = lambda row: int(row["ID"]) % 5 == 0
    credit = measure(
        [row for row in rows if not held_out(row)], [row for row in rows if held_out(row)], "credit.toml", radius=5, l2=2e-6
    )
    golden = {
        "script": "crates/efface-cli/tests/real/reference.py",
        "scikit_learn": sklearn.__version__,
        "accuracy_tolerance": 0.005,
        "credit_split": "rows whose ID is a multiple of 5 are held out",
        "adult": adult,
        "credit": credit,
    }
    json.dump(golden, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1])
