"""Two-dimensional projections of vectors that a model computes."""
