#!/bin/sh
# searchd beside ONNX Runtime: the same checkpoint, texts and number of threads, in turns. Prints Markdown.
# usage: onnx.sh SEARCHD CHECKPOINT TEXTS.jsonl CACHE [THREADS]
# CHECKPOINT holds model.onnx beside model.safetensors; TEXTS has a line {"text": ...} each, the longest of ten tokens or more.
set -eu
searchd=$1 checkpoint=$2 texts=$3 cache=$4 threads=${5:-2}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$cache"
if [ ! -d "$cache/node_modules/onnxruntime-node" ]; then
  (cd "$cache" && npm init -y && npm install --no-audit --no-fund --ignore-scripts onnxruntime-node@1.20.1) >/dev/null
fi
"$searchd" embed --model "$checkpoint" --ids <"$texts" 2>/dev/null >"$cache/ids.jsonl"
field() { sed "s/.*\"$1\":\([0-9.e+-]*\).*/\1/"; }
# The middle one of three numbers.
middle() { printf '%s\n' "$@" | sort -g | sed -n 2p; }

for precision in f32 int8; do
  ratios='' latencies=''
  for round in 1 2 3; do
    ours=$(GOMAXPROCS=$threads "$searchd" embed --model "$checkpoint" --precision $precision --format f32 <"$texts" 2>&1 >/dev/null | sed 's/.*tokens, \([0-9.]*\) s,.*/\1/')
    query=$(GOMAXPROCS=$threads "$searchd" bench encode --model "$checkpoint" --precision $precision --threads "$threads" --only query --json)
    latency=$(echo "$query" | field query_ms)
    theirs=$(node "$here/onnx.mjs" "$checkpoint/model.onnx" "$cache/ids.jsonl" "$threads" "$cache" "$(echo "$query" | field query_tokens)")
    ratios="$ratios $(awk -v a="$(echo "$theirs" | field seconds)" -v b="$ours" 'BEGIN { print a / b }')"
    latencies="$latencies $(awk -v a="$(echo "$theirs" | field query_ms)" -v b="$latency" 'BEGIN { print a / b }')"
  done
  printf '| %s | %.2f | %.2f |\n' "$precision" "$(middle $ratios)" "$(middle $latencies)"
done
