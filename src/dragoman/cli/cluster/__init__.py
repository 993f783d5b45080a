"""The verbs that run over many files on many machines: `dragoman cluster translate`, `score`, `align`, ..."""
