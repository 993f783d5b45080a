"""Translation memories: pairs that are kept, the translation of a line that is in one, and pairs that are like it."""
