#!/usr/bin/env bash
# Chinese: words are what blanks separate, so something has to separate them. A benchmark of English-Chinese pairs by
# words (jieba), up to the candidates, and by characters, up to a test set.
#
#   examples/chinese.sh DATA OUT    DATA has cmn_train_tokenized.tsv and cmn_pool_tokenized.tsv: English, tab, Chinese
set -euo pipefail
data=${1:-data} out=${2:-chinese}
members=${MEMBERS:-2} jobs=${JOBS:-2} updates=${UPDATES:-80} candidates=${CANDIDATES:-500}
# After so few updates, the members do not translate yet, so a build would stop without accept_ensemble.

# The text of Akyürek and Andreas (2021) is tokenised already, by another segmenter: that is undone first.
texts=(--train "$data/cmn_train_tokenized.tsv" --pool "$data/cmn_pool_tokenized.tsv" --columns 1,2 --languages en,zh
  --preset demo --detokenize --lowercase --set "candidates=$candidates")

echo "== without words"
cgbench build-react "${texts[@]}" --until candidates --out "$out/none" || echo "exit status $?"

echo "== by words"
cgbench build-react "${texts[@]}" --tokenize en=moses,zh=jieba --until candidates --out "$out/words"

echo "== by characters"
cgbench build-react "${texts[@]}" --tokenize en=moses,zh=zh --members "$members" --jobs "$jobs" --set beam=1 \
  --set "training.max_updates=$updates" --set accept_ensemble=true --device cpu --out "$out/characters"
cgbench stats --release "$out/characters"
