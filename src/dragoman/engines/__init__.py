"""Engines: a model behind the protocol that search and scoring call."""
