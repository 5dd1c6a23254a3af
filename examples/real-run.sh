#!/usr/bin/env bash
# The run of docs/lab/real-run.md: a test set of real text, and what five systems that did not select it make of it.
#
#   examples/real-run.sh DATA OUT      DATA has the folders tatoeba-de-en, wmt-20k, wmt-opennmt, react and multi30k
#
# Every step resumes: run the same command again after an interruption. Several copies share the training.
set -euo pipefail
data=${1:?the folder of the corpora} out=${2:-real-run}
pairs=${PAIRS:-100000} width=${WIDTH:-128} member_updates=${MEMBER_UPDATES:-10000} updates=${UPDATES:-3200}
read -ra seeds <<< "${SEEDS:-1 2 3}"
candidates=${CANDIDATES:-5000} jobs=${JOBS:-2}
mkdir -p "$out"/{text,runs,hypotheses,scores}

# --- Text: no English sentence is in both training and validation; the tokenised pools are detokenised.
if [ ! -e "$out/text/done" ]; then
  python3 - "$data/tatoeba-de-en/deu.txt.gz" "$pairs" "$out/text" <<'PYTHON'
import gzip, hashlib, sys

source, pairs, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
groups = {}
for line in gzip.open(source, "rt", encoding="utf-8"):
    english, german = line.rstrip("\n").split("\t")[:2]
    groups.setdefault(english.strip().lower(), []).append((german, english))
order = sorted(groups, key=lambda key: hashlib.sha256(key.encode()).hexdigest())


def write(name, keys, most, first_only):
    count = 0
    with open(f"{out}/{name}.de", "w") as de, open(f"{out}/{name}.en", "w") as en:
        for used, key in enumerate(keys):
            if count >= most:
                return used
            for german, english in groups[key][: 1 if first_only else None]:
                print(german, file=de)
                print(english, file=en)
                count += 1
    return len(keys)


used = write("valid", order, pairs // 100, True)
write("train", order[used:], pairs, False)
PYTHON
  for l in de en; do
    zcat "$data/wmt-20k/train.$l.gz" > "$out/text/wmt20k.$l"
    zcat "$data"/react/{valid,test}."$l".gz | sacremoses -q -l $l detokenize > "$out/text/ted.$l"
    zcat "$data/multi30k/train.lc.norm.tok.$l.gz" | sacremoses -q -l $l detokenize > "$out/text/multi30k.$l"
  done
  zcat "$data/wmt-opennmt/src-train.txt.gz" | sacremoses -q -l en detokenize > "$out/text/wmt10k.en"
  zcat "$data/wmt-opennmt/tgt-train.txt.gz" | sacremoses -q -l de detokenize > "$out/text/wmt10k.de"
  touch "$out/text/done"
fi

# --- Models: one stopping rule and one set of subwords. The members' seeds begin at 101.
form=(--tokenize moses --lowercase)
text=(--train "$out/text/train.de" "$out/text/train.en" --valid "$out/text/valid.de" "$out/text/valid.en" "${form[@]}")
rule=(--model small --device cpu --jobs 1 --set "model.width=$width" --set model.dropout=0.2
  --set training.max_tokens=2048 --set training.schedule=inverse_sqrt --set training.warmup_updates=400
  --set training.validate_every=400 --set training.validate_metric=bleu --set training.patience=5
  --set training.checkpoint_every=200)
transformer=(--set "model.feedforward_width=$((4 * width))")
relative=("${transformer[@]}" --set model.positions=relative)
lstm=(--arch lstm_lexicon --set "model.width=$((2 * width))" --set model.encoder_layers=2 --set model.decoder_layers=2)
rdangle=(--arch r_dangle "${transformer[@]}" --set model.encoder_layers=1 --set model.mixed_layers=2
  --set model.interval=4 --set model.values=shared)

train() { # LOCK NAME SEED UPDATES SETTINGS...
  local lock=$1 name=$2-$3 seed=$3 most=$4
  shift 4
  [ -e "$out/runs/$name.done" ] && return
  (
    flock $lock 9 || exit 0 # another copy trains it
    [ -e "$out/runs/$name.done" ] && exit 0
    cgbench train "${text[@]}" "${rule[@]}" --set subwords="$out/runs/subwords" --seed "$seed" --out "$out/runs/$name" \
      --set "training.max_updates=$most" "$@"
    touch "$out/runs/$name.done"
  ) 9> "$out/runs/$name.lock"
}

(
  flock 9
  [ -e "$out/runs/subwords.done" ] || cgbench train "${text[@]}" "${rule[@]}" "${transformer[@]}" --seed 0 \
    --set training.max_updates=1 --out "$out/runs/subwords"
  touch "$out/runs/subwords.done"
) 9> "$out/runs/subwords.lock"
for lock in --nonblock --exclusive; do # first what nobody trains, then wait for the other copies
  for seed in 1 2; do
    train $lock transformer 10$seed "$member_updates" "${relative[@]}"
    train $lock lstm 20$seed "$member_updates" "${lstm[@]}"
  done
  for seed in "${seeds[@]}"; do
    train $lock absolute "$seed" "$updates" "${transformer[@]}" --set model.positions=sinusoidal
    train $lock relative "$seed" "$updates" "${relative[@]}"
    train $lock lstm "$seed" "$updates" "${lstm[@]}"
    train $lock rdangle "$seed" "$updates" "${rdangle[@]}"
    train $lock seqmix "$seed" "$updates" "${relative[@]}" --method seqmix
  done
done

python3 - "$out/runs" "$out/scores/learning-curves.svg" <<'PYTHON'
import json, sys
from pathlib import Path

from matplotlib.figure import Figure

axes = (figure := Figure(figsize=(7, 4), layout="constrained")).subplots()
for path in sorted(Path(sys.argv[1]).glob("*-*1/metrics.jsonl")):  # the first seed of each
    lines = [line for line in map(json.loads, path.read_text().splitlines()) if "valid_bleu" in line]
    axes.plot([line["update"] for line in lines], [line["valid_bleu"] for line in lines], label=path.parent.name)
axes.set(xlabel="update", ylabel="BLEU, validation")
axes.legend()
figure.savefig(sys.argv[2])
PYTHON

# --- The test set, selected by two Transformers and two LSTMs; a control set; a stratified sample of all candidates.
release=$out/release
members=() pools=()
for member in transformer-101 lstm-201 transformer-102 lstm-202; do members+=(--member "$out/runs/$member"); done
for corpus in wmt20k wmt10k ted multi30k; do pools+=(--pool "$out/text/$corpus.de" "$out/text/$corpus.en"); done
build=(--train "$out/text/train.de" "$out/text/train.en" "${pools[@]}" "${form[@]}" --preset small "${members[@]}"
  --jobs "$jobs" --device cpu --control --design stratified
  --set "candidates=$candidates" --set "drop=$((candidates / 33))" --set "window=$((candidates * 3 / 10))"
  --set "select=$((candidates / 10))" --set "sample=$((candidates / 5))")
[ -e "$out/text-free/manifest.json" ] || cgbench build-react "${build[@]}" --out "$out/text-free" --text none --work "$release.work"
cgbench build-react "${build[@]}" --out "$release"
cgbench verify "$release"
cgbench verify "$out/text-free"
cgbench report "$release" --out "$out/scores/release.html"
cgbench parts "$release" --from "$out/text/train.de" "$out/text/train.en" --out "$out/parts"
cgbench validate "$release" --sources "$out/candidates.de"

# --- Translations of the test set, the control set, the sample, the probes and all candidates.
systems=(absolute relative lstm rdangle seqmix)
sources=("test:$release/test.norm.de" "control:$release/control.norm.de" "sample:$release/sample.norm.de"
  "probes:$out/parts/probes.norm.source" "candidates:$out/candidates.de")
for system in "${systems[@]}"; do
  for seed in "${seeds[@]}"; do
    for source in "${sources[@]}"; do
      file=$out/hypotheses/${source%%:*}.$system.$seed
      [ -e "$file" ] ||
        cgbench translate "${source#*:}" --model "$out/runs/$system-$seed" --device cpu --truncate --output "$file"
    done
  done
done

# --- Answers.
hypotheses() { # ARRAY OPTION SET: the option for each system, with the files of all its seeds
  local -n into=$1
  into=()
  for system in "${systems[@]}"; do
    local files=("${seeds[@]/#/$out/hypotheses/$3.$system.}")
    into+=("$2" "$system=$(IFS=,; echo "${files[*]}")")
  done
}
hypotheses test --hyp test
hypotheses control --control-hyp control
hypotheses sample --hyp sample
hypotheses probes --probe-hyp probes
hypotheses all --hyp candidates
answer() { # NAME COMMAND...: print and keep
  echo "== $1"
  "${@:2}" | tee "$out/scores/$1.txt"
}
for metric in bleu chrf; do
  score=(cgbench score $metric --release "$release")
  [ $metric = bleu ] && score+=(--tokenize none)
  answer "$metric" "${score[@]}" "${test[@]}" "${control[@]}" --paired --output "$out/scores/$metric.html"
  answer "$metric-candidates" "${score[@]}" "${sample[@]}" --estimate candidates --paired
  answer "$metric-degree" "${score[@]}" "${test[@]}" --by degree --output "$out/scores/$metric-degree.svg"
done
parts=(cgbench score chrf --release "$release" "${test[@]}" --parts "$out/parts" "${probes[@]}" --paired)
answer parts "${parts[@]}"
answer parts-once "${parts[@]}" --set known=1 --output "$out/scores/parts.html"
answer ranking cgbench validate "$release" "${all[@]}" --metric bleu --set tokenize=none
answer validate cgbench validate "$release" "${all[@]}" --metric chrf --measures --report "$out/scores/measures.html"
