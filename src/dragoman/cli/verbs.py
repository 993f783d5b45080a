"""The verbs that do nothing but call one function with their request; a verb that prints has a module of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

RUN_OVER_FILES = "dragoman.cluster.command.run_over_files"


class OneFunction(NamedTuple):
    """A verb; it has what the module of another verb has."""

    SUMMARY: str
    DESCRIPTION: str
    EXAMPLES: Sequence[str]
    REQUEST: str
    RUN: str


CONVERT = OneFunction(
    "write a corpus as files of another kind",
    "Reads a corpus of any kind and writes its pairs, in order, to two text files or to one .tsv, .csv,\n"
    ".jsonl, .json, .tmx, .xliff, .po or .xlsx file. The new files are in UTF-8; a name that ends in\n"
    ".gz, .xz or .zst compresses them. A message says what was left out because the new files cannot\n"
    "hold it.",
    (
        "dragoman convert memory.tmx train.de train.en",
        "dragoman convert train.de train.en memory.tmx",
        "dragoman convert 'catalogues/*.po' messages.tsv",
    ),
    "dragoman.requests.corpora.ConversionRequest",
    "dragoman.workflows.corpora.convert",
)
TRAIN = OneFunction(
    "train a translation model on parallel text",
    "Trains a translation model on parallel text and writes a run folder with everything that\n"
    "translation needs. A corpus is two files, or one file with both sides (.tsv, .csv, .xlsx, .jsonl,\n"
    ".json, .tmx, .xliff, .po), or an inflection table (.trn, .dev, .tst: lemma, form, tags); each may\n"
    "be compressed (.gz, .xz, .zst). Settings come from the preset, then CONFIG.yaml, then --scale and\n"
    "--set. Ctrl-C saves the training state and --resume continues from it; with --train it also begins\n"
    "a run where there is none. Several processes train one model together:\n"
    "torchrun --nproc-per-node 2 -m dragoman train ... (docs/scale.md).",
    (
        "dragoman train --train corpus.de corpus.en --out RUN",
        "dragoman train --train corpus.de corpus.en --dev dev.de dev.en --out RUN",
        "dragoman train mine.yaml --train a.tsv.gz --train b.jsonl --dev dev.tsv --out RUN --minutes 20",
        "dragoman train --train own.de own.en --train web.de web.en --mix 2 1 --out RUN",
        "dragoman train --preset bahdanau2015 --train c.en c.fr --dev d.en d.fr --out RUN --scale 0.25",
        "dragoman train --from RUN --train corrections.de corrections.en --out NEW",
        "dragoman train --out RUN --resume",
    ),
    "dragoman.requests.training.TrainingRequest",
    "dragoman.workflows.training_command.train_requested",
)
BACKTRANSLATE = OneFunction(
    "make training pairs from text of the target language",
    "Translates text of the target language with a model of the reverse direction, and writes pairs for\n"
    "training: the translation as the source, the text as the target (Sennrich et al. 2016). Train on\n"
    "them together with real pairs; --mix weighs the two. Lines without text are left out and counted.",
    (
        "dragoman backtranslate RUN-en-de -i news.en -o news.tsv",
        "dragoman backtranslate RUN-en-de -i news.en -o news.tsv --sample --seed 1 --tag '<BT>'",
        "dragoman train --train real.de real.en --train news.tsv --mix 1 1 --languages de en --out RUN",
    ),
    "dragoman.requests.translation.BackTranslationRequest",
    "dragoman.workflows.synthetic_pairs.back_translate_text",
)
DISTILL = OneFunction(
    "make training pairs with the translations of a teacher",
    "Translates the sources of training pairs with a teacher, one model or an ensemble, and writes them\n"
    "with its translations as targets. A single model that is trained on these pairs comes close to its\n"
    "teachers (sequence-level knowledge distillation, Kim and Rush 2016).",
    (
        "dragoman distill RUN1 RUN2 RUN3 RUN4 train.de train.en -o distilled.tsv",
        "dragoman distill RUN1 RUN2 train.de train.en -o distilled.tsv --candidates 5",
        "dragoman train --train distilled.tsv --dev dev.de dev.en --out STUDENT",
    ),
    "dragoman.requests.translation.DistillationRequest",
    "dragoman.workflows.synthetic_pairs.distill_corpus",
)
SERVE = OneFunction(
    "serve translations over HTTP",
    "Serves a page for browsers at / and three interfaces for programs: that of LibreTranslate (POST\n"
    "/translate, /detect, /translate_file, GET /languages), a part of DeepL's (POST /v2/translate) and\n"
    "its own (POST /v1/translate, /v1/complete). GET /spec describes all requests. A model is loaded at\n"
    "its first request, and again when its folder has changed. The log goes to standard error, one JSON\n"
    "object per line. On SIGTERM the server finishes its open requests and exits.",
    (
        "dragoman serve LIGHT",
        "dragoman serve DE-EN EN-DE --port 8000 --keep-loaded 500",
        "dragoman serve DE-EN --memory memory.tmx",
        "dragoman serve de:en=RUN --api-keys keys.txt --rate 60",
    ),
    "dragoman.requests.serving.ServingRequest",
    "dragoman.serving.server.serve_folders",
)
EXPORT = OneFunction(
    "export to ONNX: a folder that translates without torch",
    "Writes the model of a run as ONNX graphs, together with its vocabularies, segmentation and\n"
    "configuration. `translate`, `score` and `align` accept the folder in place of a run folder and\n"
    "then need no extras (no torch). In float32 it gives the same translations as the run. --int8\n"
    "makes the model smaller and faster by quantising it. --shortlist is faster still: it restricts each\n"
    "sentence to a few likely target words (see docs/how-to/export.md). Several runs with the same\n"
    "vocabularies become one ensemble, as in `translate RUN1 RUN2`.\n"
    "With --web the folder is a web site that translates in the browser (see docs/browser.md).",
    (
        "dragoman export RUN --out LIGHT",
        "dragoman export RUN --out LIGHT --int8 --shortlist 2000 --overwrite",
        "dragoman export RUN --web --out SITE",
        "dragoman export RUN1 RUN2 --out BOTH --combine log-probabilities --weights 2 1",
    ),
    "dragoman.requests.models.ExportRequest",
    "dragoman.workflows.other_formats.export_models",
)
IMPORT = OneFunction(
    "convert a JoeyNMT or OpenNMT-py model to a run folder",
    "Reads a recurrent model of JoeyNMT 2.x or OpenNMT-py 3.x without executing code from the\n"
    "checkpoint, and writes a run folder that gives the same scores. The config.yaml and vocabularies\n"
    "of JoeyNMT are looked up beside the checkpoint; an OpenNMT-py checkpoint contains both. The run\n"
    "expects text segmented as in training, tokens separated by spaces, unless a SentencePiece model is\n"
    "given.",
    (
        "dragoman import --from joeynmt models/deen/best.ckpt --out RUN",
        "dragoman import --from opennmt model_step_10000.pt --source-model de.model --target-model en.model --out RUN",
    ),
    "dragoman.requests.models.ImportRequest",
    "dragoman.workflows.other_formats.import_model",
)
SCORE = OneFunction(
    "score given translations with forced decoding",
    "Prints the log-probability of each target sentence given its source: natural logarithm, EOS\n"
    "included, not normalised by length. Several runs with the same target vocabulary form an ensemble.",
    (
        "dragoman score RUN test.de test.en > test.scores",
        "dragoman score RUN pairs.tsv.gz --token-counts -o test.scores",
        "dragoman score RUN1 RUN2 test.de test.en --combine log-probabilities --weights 2 1",
    ),
    "dragoman.requests.alignment.ScoringRequest",
    "dragoman.workflows.alignment.score_corpus",
)
HEATMAP = OneFunction(
    "draw the alignment weights of translations",
    "Translates sentences, or takes given translations, and draws the alignment weights between source\n"
    "words (columns) and target words (rows). For local attention, the window of each row and its\n"
    "centre p_t are drawn too. Writes one image per line, DIR/N.png (N: line number), or all on one\n"
    "page, DIR/heatmaps.html.",
    (
        "dragoman heatmap RUN new.de --out pictures",
        "dragoman heatmap RUN test.de test.en --out pictures --format svg --lines 7,12-15 --colormap modern",
        "dragoman heatmap RUN test.tsv --out pictures --format html",
    ),
    "dragoman.requests.pictures.HeatMapRequest",
    "dragoman.workflows.heatmaps.draw_requested",
)
TREE = OneFunction(
    "show the search tree of one translation",
    "Translates one sentence and shows the tree of the beam search with log-probabilities: which\n"
    "hypotheses were kept at each step, which were finished and which were pruned; * marks the\n"
    "translation. The output is an HTML page, an SVG image or plain text, depending on the suffix of\n"
    "the output file (.html, .svg, other). Search options default to the run's configuration.",
    (
        "dragoman tree RUN --text Hallo",
        "dragoman tree RUN --beam 4 --pruned 2 -o tree.html < line.de",
    ),
    "dragoman.requests.pictures.SearchTreeRequest",
    "dragoman.workflows.pictures.draw_search_tree",
)
CURVES = OneFunction(
    "plot the learning curves of several runs",
    "Reads the log.jsonl of each run folder and plots one metric of all of them in one figure, as Luong\n"
    "et al. 2015 do for perplexity (figure 5). Runs that are still training can be plotted too.",
    (
        "dragoman curves RUN1 RUN2 RUN3 -o curves.png",
        "dragoman curves RUN1 RUN2 --metric bleu --x-axis minutes -o bleu.svg",
    ),
    "dragoman.requests.pictures.CurvesRequest",
    "dragoman.workflows.pictures.plot_curves",
)
MAP = OneFunction(
    "project word, phrase or sentence vectors to 2-D and draw them",
    "Projects the vectors that a model computes for texts to two dimensions and draws them as an\n"
    "interactive page, an image or a table of coordinates. Each line of FILE is a text, optionally\n"
    "followed by a tab and a group label that sets the colour. Needs the extra `maps`.\n\n"
    "--of:\n"
    "  words      embeddings (Cho et al. 2014, figure 4); without -i, the most frequent words of the vocabulary\n"
    "  phrases    summary vector c of the encoder (Cho et al. 2014, figure 5)\n"
    "  sentences  final states of all encoder layers (Sutskever et al. 2014, figure 2)",
    (
        "dragoman map RUN --of words -o words.html",
        "dragoman map RUN -i phrases.txt --of phrases -o phrases.html -o phrases.tsv",
        "dragoman map RUN -i sentences.txt --of sentences --method pca -o sentences.svg",
    ),
    "dragoman.requests.pictures.MapRequest",
    "dragoman.workflows.pictures.draw_map",
)
ALIGN = OneFunction(
    "align the words of given translations",
    "Prints word alignments of sentence pairs, read off the attention weights of forced decoding: one\n"
    "line per pair, Pharaoh format i-j, source-target, words counted from 0 and separated by spaces.\n"
    "Each target word is linked to the source word with the largest weight. Several runs with the same\n"
    "target vocabulary form an ensemble. With a run of the opposite direction (--reverse) the\n"
    "alignments of both directions are symmetrized.\n\n"
    "With --aligner, a statistical word aligner is trained on the pairs themselves and no RUN is given.",
    (
        "dragoman align RUN test.de test.en > test.align",
        "dragoman align RUN test.de test.en --threshold 0.3 --matrix test.npz -o test.align",
        "dragoman align RUN test.ja test.en --segments --write-tokens test.tokens > test.align",
        "dragoman align RUN1 RUN2 test.de test.en --weights 2 1 > test.align",
        "dragoman align DE-EN test.de test.en --reverse EN-DE --symmetrize intersection --format naacl",
        "dragoman align test.de test.en --aligner hmm --symmetrize grow-diag-final-and --train train.de train.en",
    ),
    "dragoman.requests.alignment.AlignmentRequest",
    "dragoman.workflows.alignment.align_corpus",
)
SYMMETRIZE = OneFunction(
    "combine word alignments of both directions",
    "Combines source-to-target and target-to-source word alignments line by line with a symmetrization\n"
    "heuristic. Files are in Pharaoh format, i-j with the source word first. Indices are kept, so all\n"
    "files may count from 1.",
    (
        "dragoman symmetrize forward.align backward.align > both.align",
        "dragoman symmetrize de-en.align en-de.align --swapped --symmetrize intersection",
    ),
    "dragoman.requests.alignment.SymmetrizationRequest",
    "dragoman.workflows.links.symmetrize_files",
)
DICTIONARY = OneFunction(
    "extract a bilingual dictionary from word-aligned text",
    "Prints for each source word the target word that it is aligned to most often, and the count,\n"
    "separated by tabs. Alignments are in Pharaoh format, from `dragoman align` or any word aligner.\n"
    "Words are separated by spaces and lose surrounding punctuation; punctuation is never paired with a\n"
    "word. Warns if most pairs are hardly more frequent than chance.",
    (
        "dragoman align RUN train.de train.en > train.align",
        "dragoman dictionary train.de train.en train.align > de-en.dictionary",
        "dragoman translate RUN -i new.de --replace-unk --dictionary de-en.dictionary",
    ),
    "dragoman.requests.alignment.DictionaryRequest",
    "dragoman.workflows.links.make_dictionary",
)
RESCORE = OneFunction(
    "add neural scores to n-best lists",
    "Reads a Moses n-best list and adds features. Each model adds the log-probability of the hypothesis\n"
    "given the source. Each language model adds that of the hypothesis alone. Logarithms are natural, and\n"
    "EOS is included. --length adds the number of words. Everything else in the list is unchanged.",
    (
        "dragoman rescore dev.nbest.gz --source dev.fr --model RUN -o dev.rescored.gz",
        "dragoman rescore dev.nbest --source dev.fr --model RUN1 RUN2 --reverse RUN3 --feature Net > dev.rescored",
        "dragoman rescore dev.nbest --lm LM --length > dev.rescored",
        "dragoman rescore dev.nbest.gz --source dev.raw.fr --model RUN --tokenised en -o dev.rescored.gz",
    ),
    "dragoman.requests.rescoring.RescoringRequest",
    "dragoman.workflows.n_best_lists.rescore_lists",
)
TUNE = OneFunction(
    "tune log-linear weights on n-best lists",
    "Finds weights for the features of n-best lists that maximise BLEU or chrF of the 1-best hypotheses\n"
    "(MERT, batch MIRA or PRO). Runs several times with different seeds, prints the score of each run\n"
    "with mean and standard deviation, and writes the weights of the best run as `Name= weight ...`.\n"
    "Hypotheses and references are compared as tokenised text. Several lists of the same sentences are\n"
    "merged. With --against, prints the significance of the difference to other weights (paired\n"
    "bootstrap, approximate randomisation).",
    (
        "dragoman tune dev.rescored.gz --reference dev.en -o tuned.weights",
        "dragoman tune run1.nbest run2.nbest --reference dev.en.0 dev.en.1 --method mira --runs 5 -o tuned.weights",
        "dragoman tune dev.nbest --reference dev.en --test test.nbest --test-reference test.en -o tuned.weights",
        "dragoman tune dev.rescored.gz --reference dev.en --against baseline.weights --metric chrf -o tuned.weights",
    ),
    "dragoman.requests.rescoring.TuningRequest",
    "dragoman.workflows.n_best_lists.tune_weights",
)
RERANK = OneFunction(
    "rerank n-best lists and print the best hypotheses",
    "Reranks a Moses n-best list and prints the best hypothesis of each sentence: by default the one\n"
    "with the highest total score. Output lines match source lines: a sentence without hypotheses gives\n"
    "an empty line.",
    (
        "dragoman rerank test.rescored.gz --feature-weights tuned.weights > test.out",
        "dragoman rerank test.rescored.gz --average Neural > test.out",
        "dragoman rerank test.nbest --oracle test.en > test.oracle",
    ),
    "dragoman.requests.rescoring.RerankingRequest",
    "dragoman.workflows.n_best_lists.rerank_lists",
)
SMT_TRAIN = OneFunction(
    "train a phrase-based system in Moses format",
    "Aligns the words of a parallel corpus, extracts and scores phrase pairs, trains lexicalised\n"
    "reordering and an n-gram language model, and writes a folder that Moses can read too: moses.ini,\n"
    "phrase-table.gz, the reordering table, lm.arpa. The corpus must be tokenised (and usually\n"
    "lower-cased). The weights are initial values for `dragoman smt tune`.",
    (
        "dragoman smt train --train train.de train.en --out SYSTEM",
        "dragoman smt train --train train.de train.en --alignments train.align --order 3 --out SYSTEM",
    ),
    "dragoman.requests.smt.SystemTrainingRequest",
    "dragoman.smt.system_training.train_system",
)
SMT_TUNE = OneFunction(
    "tune the weights of a phrase-based system",
    "Minimum error rate training (MERT): alternately translates the development set to n-best lists and\n"
    "finds the weights with the best BLEU on all lists so far. Writes the weights of the best iteration\n"
    "into the moses.ini of the system, or as `Name= weight ...` to a file.",
    (
        "dragoman smt tune SYSTEM --source dev.de --reference dev.en",
        "dragoman smt tune SYSTEM --source dev.de --reference dev.en --seed 2 -o run2.weights",
    ),
    "dragoman.requests.smt.SystemTuningRequest",
    "dragoman.smt.system_tuning.tune_system",
)
SMT_TRANSLATE = OneFunction(
    "translate text with a phrase-based system",
    "Translates tokenised text line by line; it must be prepared like the training text. Each input line\n"
    "gives one output line; an empty line stays empty. Unknown words are copied.",
    (
        "dragoman smt translate SYSTEM < test.de > test.out",
        "dragoman smt translate SYSTEM -i test.de -o test.out --feature-weights tuned.weights --alignments test.align",
    ),
    "dragoman.requests.smt.PhraseTranslationRequest",
    "dragoman.workflows.phrase_based.translate_by_phrases",
)
SMT_NBEST = OneFunction(
    "write n-best lists of a phrase-based system",
    "Writes the best translations of each line as a Moses n-best list, `id ||| text ||| Name= v v ...\n"
    "||| total`, for `dragoman rescore`, `rerank` and `tune`. The total is the weighted sum of the\n"
    "printed features.",
    (
        "dragoman smt nbest SYSTEM -i dev.de -o dev.nbest.gz",
        "dragoman smt nbest SYSTEM -i test.de --nbest 1000 --distinct --with-alignments -o test.nbest.gz",
    ),
    "dragoman.requests.smt.NBestRequest",
    "dragoman.workflows.phrase_based.write_n_best_lists",
)
LM_SCORE = OneFunction(
    "score text with a language model",
    "Prints the log-probability of each line: natural logarithm, EOS included, not normalised by\nlength.",
    ("dragoman lm score LM -i test.en > test.scores", "dragoman lm score LM --tokens < test.en"),
    "dragoman.requests.training.LanguageModelScoringRequest",
    "dragoman.workflows.language_model.score_text",
)
CLUSTER_TRANSLATE = OneFunction(
    "translate many files",
    "Translates files line by line with workers of Ray, on this machine or on a cluster. Every input file\n"
    "gives one output file of the same name and the same number of lines, in order, equal to what\n"
    "`dragoman translate --threads 1` writes. A line that fails is empty and listed in failed.jsonl. If\n"
    "interrupted, the same command does what is missing. Workers open RUN under the same path.",
    (
        "dragoman cluster translate LIGHT --input 'news/*.gz' --output news.en",
        "dragoman cluster translate LIGHT --input 's3://bucket/news/*.zst' --output news.en --address auto",
    ),
    "dragoman.requests.cluster.ClusterTranslation",
    RUN_OVER_FILES,
)
CLUSTER_SCORE = OneFunction(
    "score given translations in many files",
    "Writes the log-probability of each target sentence given its source, as `dragoman score` does, with\n"
    "workers of Ray. Inputs are files with pairs, or the source sides of corpora whose\n"
    "target sides are given with --target. Outputs and interruptions: see dragoman cluster translate.",
    (
        "dragoman cluster score LIGHT --input 'pairs/*.tsv.gz' --output scores",
        "dragoman cluster score LIGHT --input 'corpus/*.de' --target 'corpus/*.en' --output scores --workers 8",
    ),
    "dragoman.requests.cluster.ClusterScoring",
    RUN_OVER_FILES,
)
CLUSTER_ALIGN = OneFunction(
    "align the words of many files",
    "Writes the word alignment of each pair, as `dragoman align` does, with workers of Ray. Inputs are\n"
    "files with pairs, or the source sides of corpora whose target sides are given with\n"
    "--target. Outputs and interruptions: see dragoman cluster translate.",
    (
        "dragoman cluster align LIGHT --input 'pairs/*.tsv.gz' --output links",
        "dragoman cluster align DE-EN --input 'c/*.de' --target 'c/*.en' --reverse EN-DE --output links",
    ),
    "dragoman.requests.cluster.ClusterAlignment",
    RUN_OVER_FILES,
)
CLUSTER_RESCORE = OneFunction(
    "add neural scores to many n-best lists",
    "Writes n-best lists with additional features, as `dragoman rescore` does, with workers of Ray. A line\n"
    "that is no hypothesis is empty in the output and listed in failed.jsonl. Outputs and interruptions:\n"
    "see dragoman cluster translate.",
    (
        "dragoman cluster rescore --input 'lists/*.gz' --source 'text/*.fr' --model LIGHT --output rescored",
        "dragoman cluster rescore --input 'lists/*.gz' --lm LM --output rescored --workers 8",
    ),
    "dragoman.requests.cluster.ClusterRescoring",
    RUN_OVER_FILES,
)
CLUSTER_PHRASE_TABLE = OneFunction(
    "add neural scores to many phrase tables",
    "Writes Moses phrase tables, or the parts of one that is split between source phrases, with one more\n"
    "score per model, as `dragoman phrase-table` does, with workers of Ray. Outputs and interruptions:\n"
    "see dragoman cluster translate.",
    ("dragoman cluster phrase-table --input 'table/*.gz' --model LIGHT --reverse LIGHT2 --output table2",),
    "dragoman.requests.cluster.ClusterColumns",
    RUN_OVER_FILES,
)
