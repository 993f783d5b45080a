#!/usr/bin/env bash
# Runs the papers' experiments on captions and a software manual, English to German, and keeps their results.
#
#     bench/reproduce_papers.sh DATA DIR
#     bench/reproduce_papers.sh DATA DIR pages       trains nothing: results and pages of what is done so far
#
# DATA is a folder with `multi30k-en-de-cs` and `libreoffice-help`: 62,628 pairs, among them sentences of up to 60 words
# as they were written, none of them joined. The models are tested on the captions' four test sets and on the manual's,
# 5,085 sentences, together and apart. DIR gets everything, weights too; what is in it is not done again, so the script
# may be stopped and started at any time. After each experiment its result.json and figures are copied to
# bench/results/reproduction/captions-and-manual. Then bench/reproduction_page.py writes the pages. Commit f70710c0 also
# has what the rows up to it were measured from, without weights: records of steps, translations and scores.
# Copied to DIR they are not made again, but for local-p, whose command names its window since.
#
# JOBS (1) is the number of trainings side by side, each with one thread. SEEDS (3) is the number of seeds; what decides
# the main claims comes first, one seed of it before the second and third, and Sutskever et al. have five for their
# ensembles. EXPERIMENTS names some of the experiments, for a part of the time. A training takes 35 to 45 minutes of one
# core of an EPYC (Zen 5), two and a half hours of one of a 2.5 GHz Xeon without bfloat16.
#
# DEVICE (auto) may be cuda: JOBS trainings share the GPU. TOKENS (1024) is the size of a batch; with 8192 a training has
# as many epochs in an eighth of the updates. Such rows are others than those of small batches: they are kept in
# bench/results/reproduction/captions-and-manual-8192, of which no page is written.
#
# PAIR (en-de) may be en-fr: the tables of Bahdanau et al. and Sutskever et al. once more, in a language whose order is
# nearer to that of English, as in the papers. The text is a software manual and sentences of learners (`tatoeba-en-fr`,
# of six English words or more, divided by English sentence). Results are in .../manual-and-sentences-fr.
#
# Recipe (src/dragoman/experiments/_recipe.yaml), order, claims (src/dragoman/experiments) and the rule that decides about
# them (src/dragoman/reproduction/decisions.py) were fixed before the first run: the file `commit` in DIR names the commit.
# Later, before any row of theirs: the claims of the two experiments named phrase-based, and the reading of the weights of
# Luong's models, which is measured (aligned_word). After the first four rows: the order, main claims first. Rows of one
# paper share models, whose weights another machine has not, so that those which need few more of them follow at once.
# Then experiments that explain rows: luong2015-window, luong2015-feed (its claims before seeds 2 and 3) and
# luong2015-standard; and, before any forward model of one layer, the claims of sutskever2014-depth about reversal.
# After the rows: BLEU counts `<unk>` as one word, as the papers' scorer does, and an ensemble of the models of all seeds
# counts as one system (docs/lab-book/2026-11-papers.md).
# Words that occur once in the English text or twice in the German are unknown: 3.8 % of the words of the test sets.
set -euo pipefail
DATA=$1 DIR=$2 PAIR=${PAIR:-en-de}
BENCH=$(cd "$(dirname "$0")" && pwd)
KEPT=$BENCH/results/reproduction/captions-and-manual
[ "$PAIR" = en-de ] || KEPT=$BENCH/results/reproduction/manual-and-sentences-fr
SETTINGS=(text.target.min_frequency=3) ONLY=()
if [ "${TOKENS:-1024}" -ne 1024 ]; then
    KEPT=$KEPT-$TOKENS
    SETTINGS+=(
        training.batch.size="$TOKENS" training.validation.every=$((1000 * 1024 / TOKENS))
        training.schedule.warmup=$((200 * 1024 / TOKENS))
    )
    ONLY+=(--updates $((12000 * 1024 / TOKENS)))
fi
ONLY_PAGES=
[ "${3:-}" != pages ] || { ONLY_PAGES=yes && ONLY+=(--pages-only); }
CAPTIONS=$DATA/multi30k-en-de-cs MANUAL=$DATA/libreoffice-help/$PAIR
mkdir -p "$DIR"

TEXT=()
if [ "$PAIR" = en-de ]; then
    TEXT+=(--train "$CAPTIONS"/train.{en,de}.gz --dev "$CAPTIONS"/val.{en,de}.gz)
    for name in test_2016_flickr test_2017_flickr test_2017_mscoco test_2018_flickr; do
        TEXT+=(--test "$CAPTIONS/$name".{en,de}.gz)
    done
else
    python "$BENCH/divided_sentences.py" "$DATA/tatoeba-en-fr" "$DIR/sentences"
    for set in train dev test; do
        TEXT+=(--$set "$DIR/sentences/$set".{en,fr})
    done
fi
for set in train dev test; do
    TEXT+=(--$set "$MANUAL.$set.${PAIR%-*}.xz" "$MANUAL.$set.${PAIR#*-}.xz")
done

[ -e "$DIR/commit" ] || git -C "$BENCH" rev-parse HEAD >"$DIR/commit"

FORGET_SAMPLES='
import json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).glob("*/result.json"):  # sentences of the corpora are not ours to publish
    result = json.loads(path.read_text(encoding="utf-8"))
    if result["samples"]:
        path.write_text(json.dumps({**result, "samples": []}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
'
keep() { # copies what pages are made of
    mkdir -p "$KEPT"
    (cd "$DIR" && tar -c commit corpus/corpus.json */result.json $(compgen -G '*/figure-*.svg')) | tar -C "$KEPT" -x
    python - "$KEPT" <<<"$FORGET_SAMPLES"
    find "$KEPT" -name result.json -exec sed -i "s|$DATA/|DATA/|g; s|--out $DIR|--out DIR|g; s|$DIR/|DIR/|g" {} +
}
UNFINISHED=()
reproduce() { # EXPERIMENT SEEDS: the next one also runs where rows fail (exit code 2)
    [ -z "${EXPERIMENTS:-}" ] || [[ " $EXPERIMENTS " == *" $1 "* ]] || return 0
    dragoman reproduce "$1" "${TEXT[@]}" --languages "${PAIR%-*}" "${PAIR#*-}" --out "$DIR" --seeds "$2" \
        --jobs "${JOBS:-1}" --device "${DEVICE:-auto}" "${ONLY[@]}" --set "${SETTINGS[@]}" || { [ $? -eq 2 ] && UNFINISHED+=("$1"); }
    keep
}

most=${SEEDS:-3}
every() { # EXPERIMENT...: one seed of all, then the second, and so on
    for seeds in $([ "$ONLY_PAGES" ] && echo "$most" || seq "$most"); do
        for experiment; do
            reproduce "$experiment" "$seeds"
        done
    done
}
if [ "$PAIR" = en-fr ]; then
    every bahdanau2015-table1 sutskever2014-table1
    python "$BENCH/reproduction_page.py"
    exit 0
fi
# First what decides the main claims (bench/headlines.yaml).
every luong2015-table1 luong2015-figures5-6 luong2015-phrase-based luong2015-table6 \
    bahdanau2015-table1 bahdanau2015-figure2 bahdanau2015-figure3 bahdanau2015-phrase-based \
    sutskever2014-table1 cho2014-table1
for experiment in sutskever2014-table1 sutskever2014-figure2 sutskever2014-figure3 sutskever2014-table2; do
    [ "$most" -lt 3 ] || reproduce "$experiment" 5
done
every luong2015-window luong2015-feed luong2015-standard cho2014-tables2-3 cho2014-figures4-5 luong2015-table4 \
    luong2015-table2 sutskever2014-depth luong2015-table3
[ "${TOKENS:-1024}" -ne 1024 ] || python "$BENCH/reproduction_page.py"
[ "$ONLY_PAGES" ] || [ ${#UNFINISHED[@]} -eq 0 ] || { echo "without all of their values: ${UNFINISHED[*]}" >&2; exit 2; }
