#!/usr/bin/env bash
# Records the first search on a terminal and prints it as an animated SVG: docs/recording.sh >docs/first-search.svg
# The commands run as shown, on the bundled notes and a data folder of their own. They come from PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -r testdata/notes "$dir/notes"
cd "$dir"
export HOME=$dir XDG_DATA_HOME=$dir/.local/share
unset SEARCHD_DATA SEARCHD_SERVER

# show COMMAND: the command behind a prompt, then what it prints, a line each, cut at the width of the window.
show() {
  echo "\$ $1"
  bash -c "$1" 2>&1 | sed -e "s#$dir#~#g" | cut -c1-98 | head -"${2:-16}"
}
{
  show 'searchd ingest notes'
  show 'searchd query --limit 2 "cash reserves for unexpected bills"'
  show 'searchd query --limit 1 --filter "year >= 2019" "slow leak in the wheel"'
} >lines

awk '
  { line[NR] = $0 }
  END {
    height = 20 * NR + 60; t = 0.5
    for (i = 1; i <= NR; i++) { if (line[i] ~ /^\$ /) { t += i == 1 ? 0 : 2.5; at[i] = t; t += 1.2 } else { at[i] = t; t += 0.05 } }
    total = t + 5
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"" height "\" viewBox=\"0 0 860 " height "\" role=\"img\" aria-label=\"searchd ingests a folder of notes and answers two questions\">"
    print "<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;white-space:pre;fill:#c9d1d9}.c{fill:#fff;font-weight:bold}.h{fill:#79c0ff}"
    for (i = 1; i <= NR; i++) printf "#l%d{animation:k%d %.1fs infinite}@keyframes k%d{0%%,%.2f%%{opacity:0}%.2f%%,100%%{opacity:1}}", i, i, total, i, 100 * at[i] / total, 100 * (at[i] + 0.05) / total
    print "</style><rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/><circle cx=\"20\" cy=\"20\" r=\"6\" fill=\"#ff5f57\"/><circle cx=\"40\" cy=\"20\" r=\"6\" fill=\"#febc2e\"/><circle cx=\"60\" cy=\"20\" r=\"6\" fill=\"#28c840\"/>"
    for (i = 1; i <= NR; i++) {
      s = line[i]; gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s)
      class = line[i] ~ /^\$ / ? "c" : line[i] ~ /^ *[0-9]+  / ? "h" : "o"
      printf "<text id=\"l%d\" class=\"%s\" x=\"16\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", i, class, 35 + 20 * i, s
    }
    print "</svg>"
  }' lines
