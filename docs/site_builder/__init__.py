"""What builds the site: pages of the reference that are printed from the code, and the words that its search finds."""
