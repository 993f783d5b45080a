"""How good translations are: metrics as statistics then score, corpus figures with signatures, slices."""
