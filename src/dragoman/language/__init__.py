"""Neural language models: training, scoring, features of n-best lists."""
