"""Drawings and pages about runs: heat maps of alignment weights, learning curves, a self-contained report page."""
