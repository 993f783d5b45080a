"""Faster forms of functions of the plain model, file by file; `table.py` lists them with their gains."""
