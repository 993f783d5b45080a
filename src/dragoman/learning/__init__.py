"""Learning from corrections: a few updates on each, which are logged, guarded, and can be undone."""
