#!/usr/bin/env bash
# Runs every program under examples/ as its how-to says, each on data of its own, and checks what it prints. Needs Go; an example that needs node,
# python3 with venv, or openssl is left out where that is missing, and fails where E2E_REQUIRE=1.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD examples=$PWD/examples
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT
go build -o "$dir/bin/" ./cmd/... ./examples/embedded ./examples/client
export PATH=$dir/bin:$PATH SEARCHD_MODELS=$dir/models XDG_CONFIG_HOME=$dir/config
unset SEARCHD_KEY SEARCHD_DATA SEARCHD_ADDR SEARCHD_SERVER

port() { echo $((20000 + RANDOM % 20000)); }

# expect NAME WANT COMMAND...: what the command prints matches WANT.
expect() {
  local name=$1 want=$2
  shift 2
  if ! "$@" >"$dir/out" 2>&1 || ! grep -qE -e "$want" "$dir/out"; then
    echo "example $name: want $want in" && cat "$dir/out" && exit 1
  fi
  echo "example $name: ok"
}

# needs PROGRAM: whether the program is there.
needs() {
  command -v "$1" >/dev/null && return
  echo "$1 is missing: its examples are not run"
  [ "${E2E_REQUIRE:-}" != 1 ] || exit 1
  return 1
}

cp -r testdata/notes "$dir/notes"
expect embedded 'refunds  Money is returned' embedded "$dir/embedded"
DATA=$dir/data ADDR=127.0.0.1:$(port) expect notes 'neighbour in number twelve' "$examples/notes/notes.sh" "$dir/notes"

# A server for the examples that want one.
ingest --data "$dir/served" testdata/notes >"$dir/out" 2>&1 || { cat "$dir/out" && exit 1; }
addr=127.0.0.1:$(port) url=
searchd serve --data "$dir/served" --addr "$addr" 2>"$dir/log" &
for _ in $(seq 300); do searchd health --addr "$addr" >/dev/null 2>&1 && url=http://$addr && break; sleep 0.1; done
[ -n "$url" ] || { cat "$dir/log" && exit 1; }

expect client 'salad  \{' client "$url"
expect catalogue '"name":"Gas stove"' "$examples/catalogue/catalogue.sh" "$url"
expect assistant 'bicycle-puncture.md' "$examples/assistant/assistant.sh" "$url" "$dir/data"
expect model 'docs is searched with embedded' "$examples/model/model.sh" "$url" embedded
expect backup '0 differences' "$examples/backup/backup.sh" "$url" "$dir/backups"
if needs node; then
  expect page 'the requests of the page are answered' node "$examples/catalogue/page/check.mjs" "$url"
fi
if needs openssl; then
  ADDR=127.0.0.1:$(port) expect keys-and-tls 'after it was revoked: +401' "$examples/keys-and-tls/keys-and-tls.sh" "$dir/data"
  grep -qE "shop's key: +200" "$dir/out" && grep -qE 'documents with it: +403' "$dir/out" && grep -qE 'without a key: +401' "$dir/out" || { cat "$dir/out" && exit 1; }
fi
if needs python3; then
  python=${PYTHON:-$dir/venv/bin/python} # PYTHON names one that has the packages
  if [ ! -x "$python" ] && ! { python3 -m venv "$dir/venv" && "$python" -m pip install -q -r "$examples/rag/requirements.txt"; } >"$dir/out" 2>&1; then
    cat "$dir/out" && echo "the openai package cannot be installed: its examples are not run"
    [ "${E2E_REQUIRE:-}" != 1 ] || exit 1
  else
    llm=$(port)
    "$python" "$examples/rag/stub_llm.py" "$llm" &
    for _ in $(seq 100); do (: <"/dev/tcp/127.0.0.1/$llm") 2>/dev/null && break; sleep 0.1; done
    SEARCHD_URL=$url OPENAI_BASE_URL=http://127.0.0.1:$llm/v1 expect rag 'money that lies idle on purpose.*\[1\]' \
      "$python" "$examples/rag/rag.py" "How large should an emergency fund be?"
    SEARCHD_URL=$url expect embeddings 'kitten' "$python" "$examples/rag/embeddings.py"
  fi
fi
for e in "$examples"/*/; do # each folder is run above, or by quickstart.sh as the README names it
  grep -q "examples/$(basename "$e")\b" "$root/internal/e2e/examples.sh" "$root/README.md" || { echo "$e is run by no line of this script or of the README" && exit 1; }
done
echo "examples: done"
