"""Search: beam search, sampling and constraints, from next-word probabilities to hypotheses."""
