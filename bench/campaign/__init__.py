"""The parts of `bench/chaos.py`: each tries one kind of damage many times and checks what dragoman promises about it.

A part is a module with a function `run(settings: Settings) -> list[Result]`: one result for each promise.
"""
