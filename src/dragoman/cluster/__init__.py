"""Corpora of many files on many machines: shards, workers, and a folder of outputs that can be resumed.

The command reads the input files and cuts them into shards, workers compute the lines of each, and the command writes
them. Only `ray_pool` knows Ray.
"""
