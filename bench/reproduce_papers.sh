#!/usr/bin/env bash
# Runs the papers' experiments on captions and a software manual, English to German, and keeps their results.
#
#     bench/reproduce_papers.sh DATA DIR
#
# DATA is a folder with `multi30k-en-de-cs` and `libreoffice-help`: 62,628 pairs, among them sentences of up to 60 words
# as they were written, none of them joined. The models are tested on the captions' four test sets and on the manual's,
# 5,085 sentences, together and apart. DIR gets everything, weights too; what is in it is not done again, so the script
# may be stopped and started at any time. After each experiment what pages are made of is copied to
# bench/results/reproduction/captions-and-manual: results, records of steps, translations and logs, never weights. Where
# DIR is new it begins with what is kept there, so that another machine goes on with the rows that are missing.
#
# JOBS (1) is the number of trainings side by side, each with one thread. SEEDS (3) is the number of seeds; one of
# everything comes before the second and third, and Sutskever et al. have five for their ensembles. A training takes 35 to
# 45 minutes of one core of an EPYC (Zen 5), two and a half hours of one of a 2.5 GHz Xeon without bfloat16.
#
# Recipe (src/dragoman/experiments/_recipe.yaml), order, claims (src/dragoman/experiments) and the rule that decides about
# them (src/dragoman/reproduction/decisions.py) were fixed before the first run: the file `commit` in DIR names the commit.
# Words that occur once in the English text or twice in the German are unknown: 3.8 % of the words of the test sets.
set -euo pipefail
DATA=$1 DIR=$2
KEPT=$(cd "$(dirname "$0")" && pwd)/results/reproduction/captions-and-manual
CAPTIONS=$DATA/multi30k-en-de-cs MANUAL=$DATA/libreoffice-help/en-de

TEXT=(
    --train "$CAPTIONS"/train.{en,de}.gz --train "$MANUAL".train.{en,de}.xz
    --dev "$CAPTIONS"/val.{en,de}.gz --dev "$MANUAL".dev.{en,de}.xz
)
for name in test_2016_flickr test_2017_flickr test_2017_mscoco test_2018_flickr; do
    TEXT+=(--test "$CAPTIONS/$name".{en,de}.gz)
done
TEXT+=(--test "$MANUAL".test.{en,de}.xz)

if [ ! -d "$DIR" ] && [ -d "$KEPT" ]; then
    cp -r "$KEPT" "$DIR"
fi
mkdir -p "$DIR"
[ -e "$DIR/commit" ] || git -C "$(dirname "$0")" rev-parse HEAD >"$DIR/commit"

keep() { # copies what pages are made of
    mkdir -p "$KEPT"
    tar -C "$DIR" -c --exclude='*.safetensors' --exclude=checkpoints --exclude=text --exclude=data --exclude=tensorboard \
        --exclude=corpus/{train,dev,test}.* --exclude=smt --exclude=logs --exclude=report.html --exclude='*.links' . |
        tar -C "$KEPT" -x
}
UNFINISHED=()
reproduce() { # EXPERIMENT SEEDS: the next one also runs where rows fail (exit code 2)
    dragoman reproduce "$1" "${TEXT[@]}" --languages en de --out "$DIR" --seeds "$2" --jobs "${JOBS:-1}" \
        --set text.target.min_frequency=3 || { [ $? -eq 2 ] && UNFINISHED+=("$1"); }
    keep
}

for seeds in 1 2 "${SEEDS:-3}"; do
    for experiment in luong2015-table1 luong2015-figures5-6 bahdanau2015-table1 bahdanau2015-figure2 \
        bahdanau2015-figure3 sutskever2014-table1 cho2014-table1 cho2014-tables2-3 cho2014-figures4-5 \
        luong2015-table4 luong2015-table6 luong2015-table2 sutskever2014-depth luong2015-table3; do
        reproduce "$experiment" "$seeds"
    done
done
for experiment in sutskever2014-table1 sutskever2014-figure2 sutskever2014-figure3 sutskever2014-table2; do
    reproduce "$experiment" 5
done
[ ${#UNFINISHED[@]} -eq 0 ] || { echo "without all of their values: ${UNFINISHED[*]}" >&2; exit 2; }
