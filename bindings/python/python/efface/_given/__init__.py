"""What callers hand over: rows, ids, labels, names and parameters, and what is to be said of them."""
