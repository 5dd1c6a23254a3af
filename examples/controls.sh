#!/usr/bin/env bash
# The run of docs/lab/controls.md: which of five systems compose, beside controls with a known answer?
#
#   examples/controls.sh DATA OUT      DATA has the folders tatoeba-de-en, multi30k and react
#
# English to German (Apertium: to Spanish). Every step resumes: run the same command again after an interruption.
# Steps with Apertium are skipped where it is absent (apt-get install apertium apertium-eng-spa).
set -euo pipefail
data=${1:?the folder of the corpora} out=${2:-controls}
updates=${UPDATES:-1000} jobs=${JOBS:-2} width=128
read -ra seeds <<< "${SEEDS:-1 2 3}"
mkdir -p "$out"/{text,runs,hypotheses,scores}

# --- Text: no English sentence is in two of training, validation and pool; tokenised corpora are detokenised.
if [ ! -e "$out/text/done" ]; then
  python3 - "$data/tatoeba-de-en/deu.txt.gz" "$out/text" <<'PYTHON'
import gzip, hashlib, sys

source, out = sys.argv[1:]
groups = {}
for line in gzip.open(source, "rt", encoding="utf-8"):
    english, german = line.rstrip("\n").split("\t")[:2]
    groups.setdefault(english.strip().lower(), []).append((german, english))
order = sorted(groups, key=lambda key: hashlib.sha256(key.encode()).hexdigest())
for name, most, first_only in (("valid", 1_000, True), ("train", 100_000, False), ("pool", 10**9, False)):
    used = count = 0
    with open(f"{out}/{name}.de", "w") as de, open(f"{out}/{name}.en", "w") as en:
        while used < len(order) and count < most:
            for german, english in groups[order[used]][: 1 if first_only else None]:
                print(german, file=de)
                print(english, file=en)
                count += 1
            used += 1
    order = order[used:]
PYTHON
  for l in de en; do
    zcat "$data/multi30k/train.lc.norm.tok.$l.gz" | sacremoses -q -l $l detokenize > "$out/text/captions.$l"
    zcat "$data"/react/{valid,test}."$l".gz | sacremoses -q -l $l detokenize > "$out/text/ted.$l"
  done
  touch "$out/text/done"
fi
train=("$out/text/train.en" "$out/text/train.de") pools=()
for corpus in pool captions ted; do pools+=(--pool "$out/text/$corpus.en" "$out/text/$corpus.de"); done

# --- Models: one stopping rule and one set of subwords.
form=(--tokenize moses --lowercase)
rule=(--train "${train[@]}" --valid "$out/text/valid.en" "$out/text/valid.de" "${form[@]}" --model small --device cpu
  --jobs 1 --set "model.width=$width" --set model.dropout=0.2 --set training.max_tokens=2048
  --set training.schedule=inverse_sqrt --set training.warmup_updates=300 --set training.validate_every=500
  --set training.validate_metric=loss --set training.checkpoint_every=400)
transformer=(--set "model.feedforward_width=$((4 * width))")
relative=("${transformer[@]}" --set model.positions=relative)

train() { # SYSTEM SEED
  local settings=("${relative[@]}")
  case $1 in
    absolute) settings=("${transformer[@]}" --set model.positions=sinusoidal) ;;
    lstm) settings=(--arch lstm_lexicon --set "model.width=$((2 * width))" --set model.encoder_layers=2
      --set model.decoder_layers=2) ;;
    rdangle) settings=(--arch r_dangle "${transformer[@]}" --set model.encoder_layers=1 --set model.mixed_layers=2
      --set model.interval=4 --set model.values=shared) ;;
    seqmix) settings+=(--method seqmix) ;;
  esac
  OMP_NUM_THREADS=1 cgbench train "${rule[@]}" --set subwords="$out/runs/subwords" --set "training.max_updates=$updates" \
    --seed "$2" --out "$out/runs/$1-$2" "${settings[@]}" 2> "$out/runs/$1-$2.log"
}
train_all() { # SYSTEM SEED, line by line from standard input
  while read -r system seed; do
    if [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; then wait -n; fi
    train "$system" "$seed" &
  done
  while [ -n "$(jobs -rp)" ]; do wait -n; done
}
[ -e "$out/runs/subwords/model.safetensors" ] || cgbench train "${rule[@]}" "${transformer[@]}" --seed 0 \
  --set training.max_updates=1 --out "$out/runs/subwords"
members=(relative-101 lstm-201 relative-102 lstm-202)
printf '%s\n' "${members[@]}" | tr - ' ' | train_all

# --- The test set, selected by two Transformers and two LSTMs; a control set; probes of new text, and of training text,
# which a memory knows.
release=$out/release
cgbench build-react --train "${train[@]}" "${pools[@]}" "${form[@]}" --preset small --device cpu --jobs "$jobs" \
  "${members[@]/#/--member=$out/runs/}" --control --out "$release" \
  --set candidates=12000 --set drop=360 --set window=3600 --set select=500
cgbench parts "$release" --side source --out "$out/parts"
cgbench parts "$release" --side source --from "${train[@]}" --out "$out/parts-train"
cgbench validate "$release" --cells 200 --sources "$out/cells.en"

# --- Systems, and their translations of test set, control set, probes and cells.
systems=(absolute relative lstm rdangle seqmix)
for seed in "${seeds[@]}"; do
  for system in "${systems[@]}"; do echo "$system $seed"; done
done | train_all
for set in test control probes cells known; do
  case $set in
    probes) raw=$out/parts/probes.source normalised=$out/parts/probes.norm.source human=$out/parts/probes.target ;;
    cells) raw='' normalised=$out/cells.en human='' ;; # scored by references, so only for the trained systems
    known) raw=$out/parts-train/probes.source normalised='' human=$out/parts-train/probes.target ;; # only for controls
    *) raw=$release/$set.en normalised=$release/$set.norm.en human=$release/$set.de ;;
  esac
  for seed in "${seeds[@]}"; do
    for system in "${systems[@]}"; do
      file=$out/hypotheses/$set.$system.$seed
      [ -z "$normalised" ] || [ -e "$file" ] ||
        cgbench translate "$normalised" --model "$out/runs/$system-$seed" --device cpu --truncate --output "$file"
    done
  done
  [ -n "$raw" ] || continue
  cp "$human" "$out/hypotheses/$set.human"
  cgbench translate "$raw" --system "memory:$out/text/train.en,$out/text/train.de" --output "$out/hypotheses/$set.memory"
  if command -v apertium > /dev/null; then
    [ -s "$out/hypotheses/$set.apertium" ] || apertium -u eng-spa < "$raw" > "$out/hypotheses/$set.apertium"
  else
    echo "apertium is not installed: its rows are left out"
  fi
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
hypotheses probes --probe-hyp probes
hypotheses cells --hyp cells
controls=() known=()
for system in apertium human memory; do
  [ -e "$out/hypotheses/test.$system" ] || continue
  controls+=(--hyp "$system=$out/hypotheses/test.$system" --probe-hyp "$system=$out/hypotheses/probes.$system")
  known+=(--hyp "$system=$out/hypotheses/test.$system" --probe-hyp "$system=$out/hypotheses/known.$system")
done
answer() { # NAME COMMAND...: print and keep
  echo "== $1"
  "${@:2}" | tee "$out/scores/$1.txt"
}
answer parts cgbench consistency score "$out/parts" "${controls[@]}" "${test[@]}" "${probes[@]}"
answer parts-train cgbench consistency score "$out/parts-train" "${known[@]}"
answer parts-paired cgbench consistency score "$out/parts" "${test[@]}" "${probes[@]}" --paired --baseline absolute
answer scores cgbench score chrf --release "$release" "${test[@]}" "${control[@]}" --memory "${train[@]}" --paired \
  --baseline memory
answer controls cgbench validate "$release" "${test[@]}" "${control[@]}" --controls "${train[@]}" --metric chrf
answer cells cgbench validate "$release" --cells 200 "${cells[@]}" --metric chrf
