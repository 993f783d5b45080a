"""Training a model on batches: objective, optimisers, schedules, checkpoints, logging and validation."""
