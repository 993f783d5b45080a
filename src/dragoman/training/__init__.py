"""From a model and batches to weights: the objective, the update rules, what is saved, logged and watched."""
