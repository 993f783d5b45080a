"""Import of models trained by other toolkits as run folders."""
