#!/usr/bin/env bash
# Train a model; stop in the middle; go on with the same command, to the same weights; translate; score.
#
#   examples/train.sh DATA OUT      DATA has {train,valid,test}.{de,en}
set -euo pipefail
data=${1:-data} out=${2:-train}
preset=${MODEL:-demo} seed=${SEED:-1} updates=${UPDATES:-300} stop=${STOP:-20s}
mkdir -p "$out"

train=(cgbench train --model "$preset" --train "$data/train.de" "$data/train.en" --valid "$data/valid.de" "$data/valid.en"
  --set "training.max_updates=$updates" --seed "$seed" --device cpu --out "$out/model")

echo "== stopped"
"${train[@]}" --max-time "$stop"

echo "== gone on with"
"${train[@]}"

echo "== translated"
cgbench translate "$data/test.de" --model "$out/model" --beam 4 --device cpu --output "$out/hypotheses"
cgbench score bleu --ref "$data/test.en" --hyp "$preset=$out/hypotheses"
