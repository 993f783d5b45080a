"""Translation memories: kept pairs, found by a source that equals a line or is like it."""
