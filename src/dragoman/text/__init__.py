"""Text: lines of files, sentence pairs, segmentations, vocabularies, ids."""
