#!/usr/bin/env bash
# SMCalFlow-CS: utterances with plans, as JSON lines. Names that the utterance has word for word are copied, not
# understood: --set anonymise=smcalflow replaces them on both sides, and fewer pairs have a rare word.
#
#   examples/smcalflow.sh DATA OUT  DATA has num128.train.jsonl (or TRAIN names it) and num128.test.jsonl, with the
#                                   fields utterance and plan
set -euo pipefail
data=${1:-data} out=${2:-smcalflow}
train=${TRAIN:-$data/num128.train.jsonl}
members=${MEMBERS:-2} jobs=${JOBS:-2} updates=${UPDATES:-60} candidates=${CANDIDATES:-1/2}
# After so few updates, the members do not translate yet, so a build would stop without accept_ensemble.

texts=(--train "$train" --pool "$data/num128.test.jsonl" --columns utterance,plan --languages en,plan --preset demo
  --set degree_side=source --set word_min_count=2 --set "candidates=$candidates")

echo "== plans as they are"
cgbench build-react "${texts[@]}" --until candidates --out "$out/plain"

echo "== names anonymised, up to a test set"
cgbench build-react "${texts[@]}" --set anonymise=smcalflow --set max_length_ratio=8 --set max_length_extra=40 \
  --set training.max_length=512 --members "$members" --jobs "$jobs" --set beam=1 \
  --set "training.max_updates=$updates" --set accept_ensemble=true --device cpu --out "$out/release"
