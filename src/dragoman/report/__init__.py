"""What a run looks like: heat maps of alignment weights, learning curves, one self-contained page."""
