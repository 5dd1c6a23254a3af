#!/usr/bin/env bash
# Two systems, some training seeds each: BLEU and exact match with intervals that know of both examples and seeds, a
# paired test, and the same in bins of compositional degree and of length.
#
#   examples/score.sh DATA OUT      DATA has train.en, test.en, and translations of the test set, a file a seed: base.1,
#                                   base.2, ... and new.1, new.2, ... (examples/train.sh makes one)
set -euo pipefail
data=${1:-data} out=${2:-scores}
mkdir -p "$out"

runs() { printf '%s,' "$data/$1".[0-9]* | sed 's/,$//'; }
systems=(--hyp "base=$(runs base)" --hyp "new=$(runs new)")

echo "== BLEU, by degree"
cgbench score bleu --ref "$data/test.en" "${systems[@]}" --paired \
  --by degree --train "$data/train.en" --bins quantiles:3

echo "== exact match, by length, as a table for a paper"
cgbench score exact --ref "$data/test.en" "${systems[@]}" --paired --by length --bins 6,8 \
  --format latex | tee "$out/table.tex"

echo "== every example"
cgbench score exact --ref "$data/test.en" "${systems[@]}" --per-example "$out/examples.tsv" --value-only
head -n 3 "$out/examples.tsv"
