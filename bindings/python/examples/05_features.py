# %% [markdown]
# # Features that are fixed before any row is seen
#
# Texts as hashed n-grams beside scikit-learn's `HashingVectorizer`, with the same number of features and the same
# ridge; tables through random cosines beside the same columns without. Nothing is added to ε by either.
# It needs a folder of data sets in `EFFACE_DATA` (docs/data.md). A number as its argument keeps so many rows.

# %%
import gzip
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import efface

DATA = Path(os.environ["EFFACE_DATA"])
MOST_ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else None
SCHEMAS = Path(__file__).parents[3] / "crates"

# %% [markdown]
# Sentences of films, and words of reviews, of which only a list is there: each word that a review has, once.


# %%
def sentences(split):
    with gzip.open(DATA / "sst" / f"stsa.binary.{split}.gz", "rt") as file:
        lines = [line.rstrip("\n").split(" ", 1) for line in file]
    return [text for _, text in lines], [int(label) for label, _ in lines]


def reviews(split):
    with gzip.open(DATA / "imdb-bow" / "vocab.txt.gz", "rt") as file:
        words = file.read().split("\n")
    with gzip.open(DATA / "imdb-bow" / f"{split}.svm.gz", "rt") as file:
        lines = [line.split() for line in file]
    texts = [" ".join(words[int(entry.split(":")[0]) - 1] for entry in line[1:]) for line in lines]
    return texts, [int(line[0]) for line in lines]


def few(rows, labels):
    """All rows, or as many as were asked for, of all parts of the list."""
    step = max(1, len(rows) // MOST_ROWS) if MOST_ROWS else 1
    return rows[::step], labels[::step]


# %% [markdown]
# Which n-grams share a feature is chance, and half a point of accuracy: so both are the mean of several seeds. A salt
# before every n-gram is to `HashingVectorizer` what a seed is here.


# %%
def salted(text, grams, salt):
    return [salt + gram for gram in grams(text)]


def theirs(buckets, words, seed, C):
    grams = HashingVectorizer(ngram_range=words).build_analyzer()
    hashing = HashingVectorizer(n_features=buckets, analyzer=partial(salted, grams=grams, salt=f"{seed} "))
    return make_pipeline(hashing, LogisticRegression(C=C, max_iter=10_000))


def ours(buckets, words, seed, C):
    return efface.RemovableLogisticRegression(C=C, features=efface.Text(buckets, words=words, seed=seed))


print("| texts | n-grams of | features | seeds | Efface | scikit-learn |")
print("|---|---|---|---|---|---|")
for name, load, words, sizes, n_seeds in [
    ("sentences", sentences, (1, 2), (12, 14), 5),
    ("reviews", reviews, (1, 1), (12, 14), 3),
]:
    train, test = few(*load("train")), few(*load("test"))
    for size in sizes[:1] if MOST_ROWS else sizes:
        seeds = range(1 if MOST_ROWS else n_seeds)
        scores = [
            np.mean([model(2**size, words, seed, 10.0).fit(*train).score(*test) for seed in seeds])
            for model in (ours, theirs)
        ]
        kind = "words" if words == (1, 1) else "words and pairs"
        both = " | ".join(f"{score:.4f}" for score in scores)
        print(f"| {name} | {kind} | 2^{size} | {len(seeds)} | {both} |", flush=True)

# %% [markdown]
# Two tables of people, columns by declared ranges and values: as they are, and through random cosines of them.


# %%
def adult():
    read = partial(pd.read_csv, na_values="?")
    train, test = (read(DATA / "adult" / f"{split}.csv.gz") for split in ("train", "test"))
    return "adult", SCHEMAS / "efface-reproduce/src/data/adult.toml", "income", train, test


def credit():
    rows = pd.read_csv(DATA / "credit-default" / "credit.csv.gz")
    held_out = np.arange(len(rows)) % 5 == 4
    return "credit default", SCHEMAS / "efface-cli/tests/real/credit.toml", "Y", rows[~held_out], rows[held_out]


print()
print("| table | columns | linear | 512 cosines | 2,048 cosines | 4,096 cosines |")
print("|---|---|---|---|---|---|")
for name, schema, label, train, test in (adult(), credit()):
    text, scores = schema.read_text(), []
    for width in (0, 64) if MOST_ROWS else (0, 512, 2048, 4096):
        layer = f"[fourier]\nwidth = {width}\nlength_scale = 4.0\n" if width else ""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "schema.toml")
            path.write_text(f"{text}\n{layer}")
            model = efface.RemovableLogisticRegression(C=10.0, features=efface.Schema(path))
            model.fit(*few(train.drop(columns=label), train[label]))
        scores.append(model.score(*few(test.drop(columns=label), test[label])))
    both = " | ".join(f"{score:.4f}" for score in scores)
    print(f"| {name} | {text.count('[[column]]')} | {both} |", flush=True)
