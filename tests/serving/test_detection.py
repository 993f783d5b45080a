"""Languages are detected among the served ones only."""

from __future__ import annotations

from dragoman.serving.detection import Detected, Detector

SENTENCES = {
    "de": "Das ist ein deutscher Satz und nicht mehr.",
    "en": "This is an English sentence and no more.",
    "fr": "Ceci est une phrase française et rien de plus.",
    "ja": "清水寺は京都にある寺院。",
    "pt-BR": "Esta é uma frase em português e nada mais.",
    "zh": "清水寺是京都的寺院。",
}


def test_each_language_is_found_among_those_served() -> None:
    detector = Detector([*SENTENCES, "xx"])
    for language, sentence in SENTENCES.items():
        ranked = detector.rank(sentence)
        assert ranked[0].language == language
        assert ranked[0].confidence > 50
        assert {one.language for one in ranked} == {*SENTENCES, "xx"}
        assert abs(sum(one.confidence for one in ranked) - 100) < 1
    among = detector.rank(SENTENCES["en"], ["fr", "de"])
    assert {one.language for one in among} == {"fr", "de"}


def test_japanese_and_chinese_differ_by_their_characters() -> None:
    detector = Detector(["de", "ja", "zh"])
    for line, language in (
        ("安貞2年（1228年） 帰国。", "ja"),  # no kana, but a character that Chinese writes in another way
        ("『永平広録』（石井恭二訳、河出書房新社、2005年）", "ja"),
        ("『国鉄の車両12 東海道線III』（保育社、1984年） ISBN 458653012X", "ja"),
        ("他们在北京学习汉语。", "zh"),
        ("他們在臺北學習漢語，這是很難的。", "zh"),
        ("Der Name 東京 ist der einer Stadt, und 経済 ist ein Wort.", "de"),
    ):
        assert detector.rank(line)[0].language == language, line
    assert Detector(["de", "zh"]).rank("清水寺は京都にある寺院。")[0].language == "zh"


def test_a_text_without_letters_and_a_single_language_need_no_library() -> None:
    assert Detector(["de", "en"]).rank("123 😀") == [Detected("de", 0.0), Detected("en", 0.0)]
    assert Detector(["xx"]).rank("abc") == [Detected("xx", 100.0)]
    assert Detector(["xx"]).rank("…") == [Detected("xx", 0.0)]
    assert {one.language for one in Detector(["xx", "yy"]).rank("abc")} == {"xx", "yy"}
