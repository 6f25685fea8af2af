#!/usr/bin/env bash
# Runs the shell blocks of the documents that are marked ```sh run, page by page, each page in a
# folder and with a server port of its own. A block marked ```python file=NAME is written to that
# file first; TestGuide runs the ```http blocks. The list below says why the other shell blocks are
# not run; one of a page that is not there is an error. Commands come from PATH.
# usage: docblocks.sh [PAGE...]
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset SEARCHD_KEY SEARCHD_DATA SEARCHD_ADDR SEARCHD_SERVER
[ $# -gt 0 ] || mapfile -t pages < <(grep -lE '^```sh run$' -r docs README.md)
[ $# -eq 0 ] || pages=("$@")

not_run='docs/how-to/assistant.md: need an assistant; examples.sh talks to the server as one
docs/how-to/backup.md: need a bucket; internal/clients/run.sh has one
docs/how-to/cluster.md: need several machines or fixed ports; examples.sh runs the program
docs/how-to/deploy.md: install for the system
docs/how-to/generate.md: need a checkpoint from the hub, or torch
docs/how-to/keys-and-tls.md: need a certificate; examples.sh runs the program, which makes one
docs/how-to/model.md: need a checkpoint from the hub, or torch
docs/how-to/notes.md: watches until it is stopped; examples.sh runs the program
docs/how-to/rag.md: need an LLM; examples.sh runs the program with a stand-in
docs/reference/settings.md: serve until they are stopped
docs/tutorial.md: clones the repository and builds it, as CI does'
for page in $(grep -lE '^```(sh|bash|shell|console)$' -r docs | sort); do
  reason=$(grep -F "$page: " <<<"$not_run") || { echo "$page has a shell block that is not marked \`\`\`sh run: run it, or say why not in $0" >&2 && exit 1; }
  [ $# -gt 0 ] || echo "not run: the other blocks of $reason"
done

for page in "${pages[@]}"; do
  here=$dir/${page//\//-} port=$((20000 + RANDOM % 20000))
  mkdir -p "$here"
  ln -s "$root/testdata" "$root/examples" "$here"
  grep -q 'cp -r testdata/notes notes' "$page" || cp -r testdata/notes "$here"
  {
    printf 'set -euo pipefail\ntrap '\''kill $(jobs -p) 2>/dev/null || true; wait'\'' EXIT\n'
    (cd "$here" && awk -v port="$port" '
      /^```sh run$/ { on = 1; next }
      /^```python file=/ { sub(/.*file=/, ""); file = $0; next }
      /^```/ { on = 0; file = "" }
      { gsub(/127\.0\.0\.1:8080/, "127.0.0.1:" port) }
      file != "" { print >file }
      on { print }
      on && /searchd serve .*&$/ { print "until searchd health --addr 127.0.0.1:" port " >/dev/null 2>&1; do sleep 0.1; done" }
    ' "$root/$page")
  } >"$here/script"
  if grep -q python3 "$here/script" && ! command -v python3 >/dev/null; then
    echo "$page: python3 is missing: not run"
    [ "${E2E_REQUIRE:-}" != 1 ] || exit 1
    continue
  fi
  (cd "$here" && XDG_DATA_HOME=$here/share XDG_CONFIG_HOME=$here/config SEARCHD_ADDR=127.0.0.1:$port bash -x script) >"$here/out" 2>&1 || { echo "$page fails:" && cat "$here/out" && exit 1; }
  echo "$page: its commands run"
done
