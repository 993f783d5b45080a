"""The verbs of language models: `dragoman lm train`, `score`, `perplexity`."""
