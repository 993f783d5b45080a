"""The training corpus as ids on disk, and the batches that are read from it."""
