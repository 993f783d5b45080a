"""`dragoman dictionary`: a bilingual dictionary from aligned text, for unknown word replacement."""

SUMMARY = "extract a bilingual dictionary from word-aligned text"
DESCRIPTION = (
    "Prints for each source word the target word that it is aligned to most often, and the count,\n"
    "separated by tabs. Alignments are in Pharaoh format, from `dragoman align` or any word aligner.\n"
    "Words are separated by spaces and lose surrounding punctuation; punctuation is never paired with a\n"
    "word. Warns if most pairs are hardly more frequent than chance."
)
EXAMPLES = (
    "dragoman align RUN train.de train.en > train.align",
    "dragoman dictionary train.de train.en train.align > de-en.dictionary",
    "dragoman translate RUN -i new.de --replace-unk --dictionary de-en.dictionary",
)

REQUEST = "dragoman.requests.alignment.DictionaryRequest"
RUN = "dragoman.workflows.links.make_dictionary"
