"""Faster forms of functions of the plain model; `table.py` says which replaces which, and what it gains."""
