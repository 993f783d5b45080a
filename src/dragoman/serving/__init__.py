"""The HTTP server: models, batches, routes."""
