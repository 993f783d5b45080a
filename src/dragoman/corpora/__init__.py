"""Corpora: sentence pairs in files of many kinds, read, cleaned and written."""
