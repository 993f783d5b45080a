"""`dragoman backtranslate`: training pairs from text of the target language alone."""

SUMMARY = "make training pairs from text of the target language"
DESCRIPTION = (
    "Translates text of the target language with a model of the reverse direction, and writes pairs for\n"
    "training: the translation as the source, the text as the target (Sennrich et al. 2016). Train on\n"
    "them together with real pairs; --mix weighs the two. Lines without text are left out and counted."
)
EXAMPLES = (
    "dragoman backtranslate RUN-en-de -i news.en -o news.tsv",
    "dragoman backtranslate RUN-en-de -i news.en -o news.tsv --sample --seed 1 --tag '<BT>'",
    "dragoman train --train real.de real.en --train news.tsv --mix 1 1 --languages de en --out RUN",
)

REQUEST = "dragoman.requests.translation.BackTranslationRequest"
RUN = "dragoman.workflows.synthetic_pairs.back_translate_text"
