"""Maps from raw cells to features: how users write them, and what makes features of rows by them."""
