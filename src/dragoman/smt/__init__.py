"""A phrase-based statistical translator on the files of Moses: training, decoding, n-best lists, tuning."""
