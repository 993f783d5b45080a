"""`dragoman convert`: a corpus as files of another kind."""

SUMMARY = "write a corpus as files of another kind"
DESCRIPTION = (
    "Reads a corpus of any kind and writes its pairs, in order, to two text files or to one .tsv, .csv,\n"
    ".jsonl, .json, .tmx, .xliff, .po or .xlsx file. The new files are in UTF-8; a name that ends in\n"
    ".gz, .xz or .zst compresses them. A message says what was left out because the new files cannot\n"
    "hold it."
)
EXAMPLES = (
    "dragoman convert memory.tmx train.de train.en",
    "dragoman convert train.de train.en memory.tmx",
    "dragoman convert 'catalogues/*.po' messages.tsv",
)

REQUEST = "dragoman.requests.corpora.ConversionRequest"
RUN = "dragoman.workflows.corpora.convert"
