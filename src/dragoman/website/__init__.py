"""Web sites that translate in the visitor's browser: static files, the exported model and its runtime."""
