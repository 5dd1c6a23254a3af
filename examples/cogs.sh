#!/usr/bin/env bash
# COGS: a pool of sentences with logical forms. The degree is the sentence's (degree_side=source), variables are
# numbered by first mention (--set anonymise=cogs), and translations may be long.
#
#   examples/cogs.sh DATA OUT       DATA has train.tsv and gen.tsv: sentence, tab, form, tab, type
set -euo pipefail
data=${1:-data} out=${2:-cogs}
members=${MEMBERS:-2} jobs=${JOBS:-2} updates=${UPDATES:-150} candidates=${CANDIDATES:-600}
# After so few updates, the members do not translate yet, so a build would stop without accept_ensemble.

# COGS shows some words once in training; with the usual word_min_count=3 these would be rare words.
texts=(--train "$data/train.tsv" --pool "$data/gen.tsv" --columns 1,2 --languages en,lf --preset demo
  --set degree_side=source --set word_min_count=1 --set "candidates=$candidates")

echo "== forms as they are"
cgbench build-react "${texts[@]}" --until candidates --out "$out/plain"

echo "== variables anonymised, up to a test set"
cgbench build-react "${texts[@]}" --set anonymise=cogs --set max_length_ratio=6 --set max_length_extra=20 \
  --set training.max_length=256 --members "$members" --jobs "$jobs" --set beam=1 \
  --set "training.max_updates=$updates" --set accept_ensemble=true --device cpu --out "$out/release"

echo "== what is new in the generalisation set"
cgbench stats --train "$data/train.tsv" --test "COGS=$data/gen.tsv" --columns 1,2 --min-count 1
