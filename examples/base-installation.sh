#!/usr/bin/env bash
# What works after `pip install .`, without any extra. `make wheel` runs it in an environment that has nothing else.
#
#   examples/base-installation.sh OUT
set -euo pipefail
out=${1:-base}
mkdir -p "$out"
cd "$out"

cgbench --version
# Two systems and their scores; "mine" is better.
seq 300 | awk '{print "The dog number", $1, "saw a small cat."}' > reference
awk 'NR % 4 == 0 {sub("small", "big")} 1' reference > mine
awk 'NR % 3 == 0 {sub("saw a", "sees the")} 1' reference > base
for metric in bleu chrf ter exact; do
  cgbench score "$metric" --ref reference --hyp base=base --hyp mine=mine --paired --by length --output "$metric.html"
done
# A compound translation error rate with a lexicon of its own: one compound in two contexts, one of them wrong.
printf 'a dog ran\nthe dog\n' > source
printf 'dog\ndog\n' > compounds
printf 'D\nx\n' > hypotheses
printf 'dog\tD\n' > lexicon
printf 'N\tdog\tdog\n' > atoms
cgbench score cter --source source --compounds compounds --lexicon lexicon --set atoms=atoms --hyp mine=hypotheses \
  --set group_size=2

# Scores of another program, such as COMET: one number per example.
seq 300 | awk '{print $1 * 7 % 11}' > base.scores
seq 300 | awk '{print $1 * 7 % 11 + $1 % 2}' > mine.scores
cgbench score import --scores base=base.scores --scores mine=mine.scores --paired
cgbench power --metric bleu --ref reference --hyp base=base --hyp mine=mine --difference 1

cgbench data list
cgbench data describe scan
cgbench models
cgbench models transformer_iwslt
cgbench reproduce list
