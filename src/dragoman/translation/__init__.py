"""Translation of lines: segmentation, batching by length, search, and the text and alignment of hypotheses."""
