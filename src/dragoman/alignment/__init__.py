"""Word alignments: sets of links and their file format, and links read off attention."""
