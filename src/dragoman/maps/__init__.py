"""Two-dimensional maps of what a model has learnt: words, phrases and sentences as points, the alike ones near."""
