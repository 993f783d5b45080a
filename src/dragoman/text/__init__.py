"""Text: lines of files, pairs of lines, lines as segments, segments as numbers."""
