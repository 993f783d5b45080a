"""The verbs of the phrase-based translator: `dragoman smt train`, `tune`, `translate`, `nbest`."""
