"""From a model's next-word probabilities to translations: engines, beam search, sampling, lines in and out."""
