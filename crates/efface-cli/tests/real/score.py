"""Scores of a released model of scale auto, without Efface: what docs/schema.md says, once more.

    python score.py model.json rows.csv

Prints a list of scores per row as JSON, one per set of weights. Cells are plain numbers, true, false, texts or empty; the
amounts and dates that docs/tables.md lists are left out here.
"""

import csv
import json
import math
import sys


def read(text, markers):
    """A number, a text, or None for a gap."""
    text = text.strip()
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return float(text.lower() == "true")
    if text == "" or text in markers:
        return None
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else None


def encode(column, cell):
    """The features of a cell."""
    is_number = isinstance(cell, float)
    missing = [float(cell is None)] if column.get("has_missing") else []
    match column["kind"]:
        case "number":
            scaled = (cell - column["location"]) / column["scale"] if is_number else 0.0
            missing = [float(not is_number)] if column.get("has_missing") else []
            return [max(-8.0, min(8.0, scaled)), *missing]
        case "categories":
            names = [category["name"] for category in column["categories"]]
            others = [float(cell is not None and cell not in names)] if column["has_others"] else []
            return [*(float(cell == name) for name in names), *others, *missing]
        case "gaps":
            return [float(not is_number)]
        case "nothing":
            return []
    raise ValueError(f"kind {column['kind']} is that of a schema's own entries")


def scores(model, row):
    """One score per set of weights."""
    markers = model.get("schema", {}).get("missing_markers", [])
    constants = model["constants"]
    cells = [read(row[name], markers) for name in model["columns"]]
    parts = [encode(column, cell) for column, cell in zip(constants["columns"], cells, strict=True)]
    features = [x for part in parts for x in part]
    longest = 4.0 * math.sqrt(max(1, sum(len(part) > 0 for part in parts)))
    factor = min(1.0, longest / (math.hypot(*features) or 1.0))
    several = isinstance(model["intercept"], list)
    sets = zip(model["weights"], model["intercept"]) if several else [(model["weights"], model["intercept"])]
    found = [factor * math.fsum(w * x for w, x in zip(weights, features, strict=True)) + b for weights, b in sets]
    target = constants.get("target")
    return found if target is None else [target["location"] + target["scale"] * score for score in found]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        model = json.load(file)
    with open(sys.argv[2], encoding="utf-8", newline="") as file:
        print(json.dumps([scores(model, row) for row in csv.DictReader(file)]))
