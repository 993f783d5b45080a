"""What a corpus is like before anybody trains on it: lengths, repetitions, languages, encoding, words, overlap."""
