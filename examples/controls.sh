#!/usr/bin/env bash
# The run of docs/lab/controls.md: does the residual composition error place systems with a known answer in order?
#
#   examples/controls.sh DATA OUT      DATA has the folders tatoeba-de-en and multi30k
#
# English to German (Apertium: to Spanish). Every step resumes: run the same command again after an interruption.
# SEEDS="1 2 3" also trains Transformers, for UPDATES (1,600) updates each. Steps with Apertium are skipped where it is
# absent (apt-get install apertium apertium-eng-spa).
set -euo pipefail
data=${1:?the folder of the corpora} out=${2:-controls}
read -ra seeds <<< "${SEEDS:-}"
mkdir -p "$out"/{text,runs,hypotheses}
form=(--tokenize moses --lowercase)

# --- Text: no English sentence is in two of training, validation and pool; the tokenised captions are detokenised.
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
  done
  touch "$out/text/done"
fi
train=("$out/text/train.en" "$out/text/train.de") pools=()
for corpus in pool captions; do pools+=("$out/text/$corpus.en" "$out/text/$corpus.de"); done

# --- The test set: 600 random pairs of the 4,000 candidates with the highest degrees.
cgbench build-react --train "${train[@]}" --pool "${pools[@]:0:2}" --pool "${pools[@]:2:2}" "${form[@]}" \
  --preset small --until candidates --set candidates=4000 --out "$out/candidates"
python3 - "$out/candidates/candidates" "$out/test" <<'PYTHON'
import random, sys

name, out = sys.argv[1:]
texts = {form: open(f"{name}.{form}").read().splitlines() for form in ("en", "de", "norm.en")}
random.seed(1)
rows = sorted(random.sample(range(len(texts["en"])), 600))
for form, lines in texts.items():
    open(f"{out}.{form}", "w").write("".join(f"{lines[row]}\n" for row in rows))
PYTHON

# --- Probes from new text, and from training text, which a memory knows.
parts=(cgbench parts --test "$out/test.en" "$out/test.de" --train "${train[@]}" --side source "${form[@]}")
"${parts[@]}" --from "${pools[@]:0:2}" --from "${pools[@]:2:2}" --out "$out/parts-new"
"${parts[@]}" --from "${train[@]}" --out "$out/parts-train"

# --- Systems.
rule=(--model small --device cpu --jobs 1 --set model.width=128 --set model.dropout=0.2 --set training.max_tokens=2048
  --set training.schedule=inverse_sqrt --set training.warmup_updates=300 --set training.validate_every=800
  --set training.validate_metric=loss --set training.checkpoint_every=800 --set model.feedforward_width=512
  --set model.positions=relative --set "training.max_updates=${UPDATES:-1600}")
for seed in "${seeds[@]}"; do
  cgbench train --train "${train[@]}" --valid "$out/text/valid.en" "$out/text/valid.de" "${form[@]}" "${rule[@]}" \
    --seed "$seed" --out "$out/runs/$seed"
done
for set in test new train; do
  case $set in
    test) source=$out/test.en normalised=$out/test.norm.en human=$out/test.de ;;
    *) source=$out/parts-$set/probes.source normalised=$out/parts-$set/probes.norm.source
      human=$out/parts-$set/probes.target ;;
  esac
  cp "$human" "$out/hypotheses/$set.human"
  cgbench translate "$source" --system "memory:$out/text/train.en,$out/text/train.de" --output "$out/hypotheses/$set.memory"
  if command -v apertium > /dev/null; then
    [ -s "$out/hypotheses/$set.apertium" ] || apertium -u eng-spa < "$source" > "$out/hypotheses/$set.apertium"
  else
    echo "apertium is not installed: its rows are left out"
  fi
  for seed in "${seeds[@]}"; do
    cgbench translate "$normalised" --model "$out/runs/$seed" --device cpu --truncate \
      --output "$out/hypotheses/$set.$seed"
  done
done

# --- Answers.
for set in new train; do
  outputs=()
  for system in apertium human memory; do
    [ -e "$out/hypotheses/test.$system" ] || continue
    outputs+=(--hyp "$system=$out/hypotheses/test.$system" --probe-hyp "$system=$out/hypotheses/$set.$system")
  done
  if [ ${#seeds[@]} -gt 0 ]; then
    test=("${seeds[@]/#/$out/hypotheses/test.}") probes=("${seeds[@]/#/$out/hypotheses/$set.}")
    outputs+=(--hyp "transformer=$(IFS=,; echo "${test[*]}")" --probe-hyp "transformer=$(IFS=,; echo "${probes[*]}")")
  fi
  echo "== probes: $set"
  cgbench consistency score "$out/parts-$set" "${outputs[@]}"
done
