"""A corpus as ids on disk, and the batches drawn from it."""
