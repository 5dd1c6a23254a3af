#!/usr/bin/env bash
# What is new in a test text: degree, and n-grams of words and of part-of-speech tags that never occur in training. The
# tags come from a tagger that is trained first, on a treebank, for where no spaCy model can be downloaded.
#
#   examples/stats.sh DATA OUT      DATA has en_ewt-ud-train.conllu.gz and en_ewt-ud-dev.conllu.gz (Universal
#                                   Dependencies), and train.tsv and gen.tsv (COGS)
set -euo pipefail
data=${1:-data} out=${2:-stats}
steps=${STEPS:-400}

mkdir -p "$out"
for part in train dev; do
  gzip -dc "$data/en_ewt-ud-$part.conllu.gz" > "$out/$part.conllu"
  python -m spacy convert "$out/$part.conllu" "$out"
done
python -m spacy init config "$out/tagger.cfg" --lang en --pipeline tagger --force
python -m spacy train "$out/tagger.cfg" --output "$out/tagger" --paths.train "$out/train.spacy" \
  --paths.dev "$out/dev.spacy" --training.max_steps "$steps"
# --set trust=true: a pipeline can run code when it is loaded, and this one is ours.
cgbench stats --train "$data/train.tsv" --test "COGS=$data/gen.tsv" --columns 1,2 --pos "$out/tagger/model-best" --set trust=true
