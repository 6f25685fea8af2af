#!/bin/sh
# Prints docs/benchmarks.md.
# usage: report.sh SEARCHD [CHECKPOINT TEXTS.jsonl CACHE]; with the last three also ONNX Runtime is measured, see onnx.sh.
set -eu
searchd=$1
here=$(cd "$(dirname "$0")" && pwd)
model=${2:-embedded}
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
echo
cat "$here/int8.md"
