#!/bin/sh
# Prints the tables of the encoder for this machine, in about ten minutes where it is quiet.
# usage: report.sh SEARCHD [CHECKPOINT TEXTS.jsonl CACHE]; with the last three that checkpoint is measured too, and ONNX Runtime, see onnx.sh.
# SETS="DIR...", folders of evaluation sets in the BEIR layout, adds what int8 costs in quality; PASSAGES=N says how many the section on memory
# encodes.
set -eu
searchd=$1
here=$(cd "$(dirname "$0")" && pwd)
passages=${PASSAGES:-10000}

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

# encoder MODEL prints the section of one checkpoint, in both precisions.
encoder() {
  name=$(basename "$1")
  printf '\n## Encoder: %s\n\n`searchd bench encode --model %s`\n\n' "$name" "$name"
  for precision in f32 int8; do
    printf '\n`--precision %s`: ' $precision
    "$searchd" bench encode --model "$1" --precision $precision --only rates
    "$searchd" bench encode --model "$1" --precision $precision --only query
  done
}

cat <<EOT
# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(getconf _NPROCESSORS_ONLN) cores, load average $(cut -d' ' -f1 /proc/loadavg)
EOT
encoder embedded
if [ $# -ge 4 ]; then
  encoder "$2"
  cat <<EOT

## ONNX Runtime

\`internal/bench/onnx.sh searchd $(basename "$2") $(basename "$3") CACHE\`: onnxruntime-node in float32, batches of 32 sorted by length, two
threads each, $(wc -l <"$3") texts. How many times faster searchd is, with its own precision; the middle one of three rounds.
$(basename "$2") is not in this repository: any folder with model.onnx beside model.safetensors does (\`make bench ONNX="DIR TEXTS.jsonl CACHE"\`).

| searchd | all texts | one short query |
|---|---|---|
EOT
  "$here/onnx.sh" "$@"
fi
if /usr/bin/time -f %M true >/dev/null 2>&1; then
  cat <<EOT

## Memory

Peak resident size of \`searchd embed --format f32\` with the embedded checkpoint over $passages texts of about 60 tokens, beside that for one short text,
which is mostly weights and tables:

| precision | one text | $passages texts | more |
|---|---|---|---|
EOT
  for precision in f32 int8; do
    one=$(texts 1 | peak embed --precision $precision --format f32)
    many=$(texts "$passages" | peak embed --precision $precision --format f32)
    printf '| %s | %d MB | %d MB | %d MB |\n' $precision $((one / 1024)) $((many / 1024)) $(((many - one) / 1024))
  done
fi
if [ -n "${SETS:-}" ]; then
  cat <<EOT

## Quality of int8

\`searchd eval --dataset DIR --mode semantic --precision int8\` with the embedded checkpoint, and the same with f32:

EOT
  for set in $SETS; do
    for precision in f32 int8; do
      printf -- '- %s, %s: ' "$(basename "$set")" $precision
      "$searchd" eval --dataset "$set" --mode semantic --precision $precision
    done
  done
fi
