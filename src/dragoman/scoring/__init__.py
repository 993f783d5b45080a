"""Scores of given translations."""
