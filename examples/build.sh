#!/usr/bin/env bash
# A benchmark from text as people have it: raw sentences of Tatoeba to train on; as the pool TED talks and captions
# (Multi30k) that are tokenised and in lower case, and captions that are raw. What would spoil the benchmark stops the
# build, with the remedy; --detokenize --tokenize --lowercase bring everything to one form.
#
#   examples/build.sh DATA OUT      DATA has deu.txt.gz (manythings.org: English, tab, German), and {de,en} of
#                                   ted.tok.*.gz, multi30k.tok.*.gz, multi30k.raw.*
set -euo pipefail
data=${1:-data} out=${2:-build}
members=${MEMBERS:-2} jobs=${JOBS:-2} updates=${UPDATES:-150} candidates=${CANDIDATES:-1000}

train=(--train "$data/deu.txt.gz" --columns 2,1 --languages de,en)
ted=(--pool "$data/ted.tok.de.gz" "$data/ted.tok.en.gz")
captions=(--pool "$data/multi30k.tok.de.gz" "$data/multi30k.tok.en.gz")
raw=(--pool "$data/multi30k.raw.de" "$data/multi30k.raw.en")
settings=(--preset demo --set "candidates=$candidates" --set beam=1 --set "training.max_updates=$updates"
  --set accept_ensemble=true)  # after so few updates, the members do not translate yet

echo "== a tokenised pool, tokenised again"
cgbench build-react "${train[@]}" "${ted[@]}" "${captions[@]}" "${settings[@]}" --tokenize moses --lowercase \
  --dry-run --out "$out/twice" || echo "exit status $?"

echo "== a tokenised pool beside raw training text"
cgbench build-react "${train[@]}" "${ted[@]}" "${captions[@]}" "${settings[@]}" \
  --dry-run --out "$out/unlike" || echo "exit status $?"

echo "== raw text alone: what is known words in new combinations"
cgbench build-react "${train[@]}" "${raw[@]}" "${settings[@]}" --tokenize moses --lowercase \
  --until candidates --out "$out/raw"

echo "== all of it, brought to one form, up to a test set"
cgbench build-react "${train[@]}" "${ted[@]}" "${captions[@]}" "${settings[@]}" --detokenize --tokenize moses --lowercase \
  --members "$members" --jobs "$jobs" --device cpu --out "$out/release"
cgbench verify "$out/release"
