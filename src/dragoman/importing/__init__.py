"""Models that other toolkits trained, turned into run folders."""
