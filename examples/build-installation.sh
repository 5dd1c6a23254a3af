#!/usr/bin/env bash
# What works after `pip install '.[build]'`, without another extra: nothing here needs a model, a tokeniser or a download.
# `make wheel` runs it in an environment that has nothing else.
#
#   examples/build-installation.sh DATA OUT      DATA has train.{de,en}, pool.{de,en}
set -euo pipefail
data=${1:-data} out=${2:-built}
mkdir -p "$out"

build=(cgbench build-react --train "$data/train.de" "$data/train.en" --pool "$data/pool.de" "$data/pool.en" --preset demo)

cgbench --version
cgbench degree --train "$data/train.en" --cover "$data/pool.en" > "$out/degrees"
head -n 2 "$out/degrees"
"${build[@]}" --until candidates --dry-run --out "$out/release"
"${build[@]}" --until candidates --out "$out/release"
cgbench verify "$out/release"
cgbench report "$out/release" --out "$out/release.html"
cgbench stats --train "$data/train.en" --test "$data/pool.en"

cgbench lm train "$data/train.en" --out "$out/lm.arpa" --order 3
cgbench lexicon learn "$data/train.de" "$data/train.en" --out "$out/lexicon.json"
cgbench augment geca "$data/train.de" "$data/train.en" --out "$out/new.de" "$out/new.en"
