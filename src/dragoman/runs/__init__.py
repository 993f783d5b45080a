"""Run folders and exported folders: their layout, and how they are opened."""
