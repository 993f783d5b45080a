"""Workflows: what a command does from files to files, composed of the other packages."""
