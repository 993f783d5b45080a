"""Fixtures of the importer tests."""

from __future__ import annotations

import io

import pytest
import sentencepiece


@pytest.fixture(scope="session")
def sentencepiece_model() -> bytes:
    """A small SentencePiece model."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["der Hund läuft", "ein Hund und eine Katze", "die Katze läuft"] * 4),
        model_writer=model,
        vocab_size=40,
        hard_vocab_limit=False,
        minloglevel=4,
    )
    return model.getvalue()
