"""Weights of features over n-best lists: reading them, choosing with them, and finding good ones."""
