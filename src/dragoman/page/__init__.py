"""The page for browsers in which people translate: static files that need no build step, and how they are served."""
