#!/usr/bin/env bash
# What works after `pip install .`, without any extra: nothing here needs a model, a tokeniser or a download.
# `make wheel` runs it in an environment that has nothing else.
#
#   examples/base-installation.sh DATA OUT      DATA has train.{de,en}, pool.{de,en}
set -euo pipefail
data=${1:-data} out=${2:-base}
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

cgbench score exact --ref "$data/pool.en" --hyp "mine=$data/pool.en"
# A compound translation error rate with a lexicon of its own: one compound in two contexts, one of them wrong.
printf 'a dog ran\nthe dog\n' > "$out/source"
printf 'dog\ndog\n' > "$out/compounds"
printf 'D\nx\n' > "$out/hypotheses"
printf 'dog\tD\n' > "$out/lexicon"
printf 'N\tdog\tdog\n' > "$out/atoms"
cgbench score cter --source "$out/source" --compounds "$out/compounds" --lexicon "$out/lexicon" --atoms "$out/atoms" \
  --hyp "mine=$out/hypotheses" --group-size 2

cgbench lm train "$data/train.en" --out "$out/lm.arpa" --order 3
cgbench lexicon learn "$data/train.de" "$data/train.en" --out "$out/lexicon.tsv"
cgbench augment geca "$data/train.de" "$data/train.en" --out "$out/new.de" "$out/new.en"
cgbench data list
cgbench data describe scan
cgbench models
cgbench models transformer_iwslt
cgbench reproduce list
