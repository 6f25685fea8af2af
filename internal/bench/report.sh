#!/bin/sh
# Prints docs/benchmarks.md.
# usage: report.sh SEARCHD [CHECKPOINT TEXTS.jsonl CACHE]; with the last three also ONNX Runtime is measured, see onnx.sh.
# SETS=DIR, a folder of evaluation sets in the BEIR layout, adds what int8 costs in quality.
set -eu
searchd=$1
here=$(cd "$(dirname "$0")" && pwd)
model=${2:-embedded}
passages=${PASSAGES:-100000}

# texts N prints N made-up lines for searchd embed.
texts() {
  awk -v n="$1" 'BEGIN {
    split("the of a sea and its weather library town book find good small how in about to on water light", w, " ")
    srand(1)
    for (i = 0; i < n; i++) {
      line = "text " i
      for (k = n > 1 ? 20 + int(rand() * 80) : 1; k > 0; k--) line = line " " w[1 + int(rand() * 20)]
      print "{\"text\": \"" line "\"}"
    }
  }'
}

# peak ARGS... prints the largest resident size of searchd ARGS in KB; needs GNU time.
peak() {
  { /usr/bin/time -f 'peak %M' "$searchd" "$@" >/dev/null; } 2>&1 | sed -n 's/^peak //p'
}

cat <<EOF
# Benchmarks

Written by \`make bench\` on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(getconf _NPROCESSORS_ONLN) cores. Everything that is
compared ran in turns in one run; read the ratios, not the rates, which others on the machine take their share of. Load average at the start:
$(cut -d' ' -f1 /proc/loadavg).

## Encoder

\`searchd bench encode --model $(basename "$model")\`

EOF
"$searchd" bench encode --model "$model"
cat <<EOF

\`searchd bench encode --model $(basename "$model") --precision int8\`, without the kernels

EOF
"$searchd" bench encode --model "$model" --precision int8 --only rates
"$searchd" bench encode --model "$model" --precision int8 --only query
if [ $# -ge 4 ]; then
  cat <<EOF

## ONNX Runtime

\`internal/bench/onnx.sh searchd $(basename "$2") $(basename "$3") CACHE\`: onnxruntime-node in float32, batches of 32 sorted by length, two
threads each. How many times faster searchd is, with its own precision; the middle one of three rounds.

| searchd | all texts | one short query |
|---|---|---|
EOF
  "$here/onnx.sh" "$@"
fi
if /usr/bin/time -f %M true >/dev/null 2>&1; then
  cat <<EOF

## Memory

Peak resident size of \`searchd embed --format f32\` over $passages texts of about 60 tokens, beside that for one short text, which is mostly weights
and tables:

| precision | one text | $passages texts | more |
|---|---|---|---|
EOF
  for precision in f32 int8; do
    one=$(texts 1 | peak embed --model "$model" --precision $precision --format f32)
    many=$(texts "$passages" | peak embed --model "$model" --precision $precision --format f32)
    printf '| %s | %d MB | %d MB | %d MB |\n' $precision $((one / 1024)) $((many / 1024)) $(((many - one) / 1024))
  done
fi
if [ -n "${SETS:-}" ]; then
  cat <<EOF

## Quality of int8

\`searchd bench int8 --model $(basename "$model") $(basename "$SETS")\`: the smallest cosine of the vectors of a text in both precisions, over all documents and
queries, and nDCG@10 by exact search.

EOF
  "$searchd" bench int8 --model "$model" "$SETS"
fi
echo
cat "$here/byhand.md"
