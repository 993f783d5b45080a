"""Dragoman trains a translator from parallel text, translates, and shows which source word every target word came from.

The public door; importing it costs nothing, because each name is fetched when it is first used:

    import dragoman
    translator = dragoman.load("RUN")
    translator.translate("Ein Hund läuft.")
"""

__version__ = "0.1.0"
