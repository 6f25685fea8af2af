#!/usr/bin/env bash
# The first ten minutes of somebody who has never seen searchd: an empty home folder, the three commands, a page, and the mistakes that people make,
# each with the message that sends them on. Then every example and every command block of the documents. Commands come from PATH, or are built.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT
if ! command -v searchd >/dev/null || ! command -v ingest >/dev/null; then
  go build -o "$dir/bin/" ./cmd/...
  export PATH=$dir/bin:$PATH
fi
unset SEARCHD_KEY SEARCHD_DATA SEARCHD_ADDR SEARCHD_SERVER XDG_DATA_HOME
GOCACHE=$(go env GOCACHE) GOMODCACHE=$(go env GOMODCACHE) GOFLAGS=$(go env GOFLAGS)
export GOCACHE GOMODCACHE GOFLAGS HOME=$dir/home SEARCHD_MODELS=$dir/models
mkdir -p "$HOME"
cp -r testdata/notes "$HOME/notes"
cd "$HOME"
port=$((20000 + RANDOM % 20000))

fail() {
  echo "first minutes: $1; it printed:" >&2
  head -c 2000 "$dir/out" >&2
  exit 1
}

# step NAME WANT COMMAND...: the command succeeds, and what it prints matches WANT.
step() {
  local name=$1 want=$2
  shift 2
  timeout 60 "$@" >"$dir/out" 2>&1 || fail "$name: $* ended with $?"
  grep -qiE -e "$want" "$dir/out" || fail "$name: want $want"
  echo "$name: ok"
}

# mistake NAME WANT COMMAND...: the command fails within a minute, in at most four lines that match WANT.
mistake() {
  local name=$1 want=$2
  shift 2
  if timeout 60 "$@" >"$dir/out" 2>&1 </dev/null; then fail "$name: $* succeeded"; fi
  grep -qiE -e "$want" "$dir/out" || fail "$name: want $want"
  [ "$(wc -l <"$dir/out")" -le 4 ] || fail "$name: a message of more than four lines"
  echo "mistake: $name: ok"
}

# What a newcomer does right.
mistake "asking before anything was ingested" 'searchd ingest' searchd query "hello"
step "ingest a folder" '55 documents from 55 files' searchd ingest notes
grep -q "$HOME/.local/share/searchd" "$dir/out" || fail "ingest does not name the data folder"
step "ask it" 'How large should an emergency fund be' searchd query "cash reserves for unexpected bills"
step "ask it with a filter" 'Mending a flat tyre' searchd query --filter "topic = 'bicycles'" "slow leak in the wheel"
step "for programs" '"hits"' searchd query --json "sourdough"
searchd query --json "sourdough" 2>/dev/null | grep -q '^{"hits":\[{.*}$' || fail "--json: more than JSON on the standard output"
step "ingest it again" '55 unchanged' searchd ingest notes
echo "The spare key is with the neighbour." >notes/key.txt
step "a new note" '1 created' searchd ingest notes
step "is found" 'spare key' searchd query "who has a key to the flat"
step "a misspelled word" 'sourdough' searchd query "sourdoh starter"
step "gibberish" 'no results|nothing relevant|no relevant' searchd query "xqzzyv qqqwww"
step "no arguments" 'ingest' searchd
if command -v script >/dev/null; then
  step "no arguments, on a terminal" 'searchd ingest' script -qec searchd /dev/null
  [ "$(wc -l <"$dir/out")" -le 15 ] || fail "the guide has more than 15 lines"
fi
step "version" '^searchd ' searchd version

searchd serve --addr "127.0.0.1:$port" 2>"$dir/log" &
for _ in $(seq 300); do searchd health --addr "127.0.0.1:$port" >/dev/null 2>&1 && break; sleep 0.1; done
step "the page" '<title>' curl -fsS "http://127.0.0.1:$port/"
step "a server without http://" 'emergency fund' searchd query --server "127.0.0.1:$port" "cash reserves for unexpected bills"
api=http://127.0.0.1:$port/v1/collections/docs
step "curl without a content type" '"hits":\[\{' curl -fsS "$api/search" -d '{"q":"sourdough"}'
step "pages" '"hits":\[\{' curl -fsS "$api/search" -d '{"q":"water","page":2,"limit":5}'

# What goes wrong, and what it says.
mistake "ingest while the server runs" '--server' searchd ingest notes
mistake "a second server" 'in use.*--server' searchd serve --addr "127.0.0.1:$((port + 1))"
mistake "a port that is taken" 'already in use' searchd serve --data "$dir/other" --addr "127.0.0.1:$port"
mistake "a port alone" '127\.0\.0\.1:9190|:9190' searchd serve --data "$dir/other" --addr 9190
mistake "a folder of notes as the data folder" 'not a data folder|not empty' searchd ingest --data notes notes
[ -z "$(find notes -name 'searchd.*')" ] || fail "the notes have got a database"
mistake "a folder that does not exist" 'no such file' searchd ingest --data "$dir/other" nots
mistake "a command that does not exist" 'did you mean query' searchd qeury "x"
mistake "what other programs call the command" 'did you mean query' searchd search "x"
mistake "what other programs call the flag" 'did you mean --addr' searchd serve --port 8080
mistake "searching a folder of notes that was not read" 'is not a data folder.*searchd ingest' searchd query --data notes "x"
mistake "a backup without a file" 'it is called as searchd backup' searchd backup
mistake "a format that does not exist" 'allowed: auto' searchd ingest --data "$dir/other" --format word notes
mistake "a flag that does not exist" 'did you mean --collection.*--help' searchd query --data "$dir/other" --colection docs "x"
mistake "a collection that does not exist" 'has no "note", but docs' searchd query --server "127.0.0.1:$port" --collection note "x"
mistake "https to a server that speaks http" 'write http://' searchd query --server "https://127.0.0.1:$port" "x"
mistake "the number of the hit to open" 'write --open=2' searchd query --server "127.0.0.1:$port" --open 2 bread
mistake "a mode that does not exist" 'hybrid, semantic, keyword' searchd query --server "127.0.0.1:$port" --mode fuzzy "x"
mistake "a filter of another language" 'write =' searchd query --server "127.0.0.1:$port" --filter "topic == 'money'" "x"
mistake "a filter with a colon" "topic = 'money'|write =" searchd query --server "127.0.0.1:$port" --filter "topic:money" "x"
mistake "a server that does not run" 'no server listens' searchd query --server "127.0.0.1:$((port + 1))" "x"
mistake "a model that was not pulled" 'searchd models pull' searchd serve --data "$dir/other" --model no/such
mistake "an address for everybody without a key" 'searchd keys create|--insecure' searchd serve --data "$dir/other" --addr "0.0.0.0:$((port + 1))"
step "a backup" 'bytes' searchd backup --server "127.0.0.1:$port" "$dir/backup"
mistake "restoring over a data folder" 'already|holds|in use' searchd restore "$dir/backup" --data "$HOME/.local/share/searchd"
step "JSON lines to the wrong route" '/documents/import' curl -sS "$api/documents" -H 'Content-Type: application/x-ndjson' --data-binary $'{"a":1}\n{"a":2}\n'
step "a field that does not exist" 'no document has a field' curl -sS "$api/search" -d '{"q":"x","filter":"tpoic = 1"}'

kill %1
wait
cd "$root"
internal/e2e/docblocks.sh
internal/e2e/examples.sh
echo "first minutes: done"
