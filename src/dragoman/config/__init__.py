"""The configuration: its tree, what fits together, files and presets."""
