#!/usr/bin/env bash
# Runs the published clients of OpenAI (Node and Go), Cohere (Node), the Model Context Protocol
# (Node) and Meilisearch (Node, InstantSearch, Python, LangChain), unchanged, against a searchd of
# its own; and searchd as a client of a storage that speaks S3, moto's server.
# Needs Go, node with npm and python3 with venv; where they are missing it says so, and fails in CI.
# package.json, go.mod and requirements.txt name the versions.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD root=$PWD/../..
dir=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT

(cd "$root" && go build -o "$dir/" ./cmd/searchd)
cp -r "$root/encoder/testdata/decoders/llama" "$dir/generator"
cp "$root/generate/jinja/testdata/chatml.jinja" "$dir/generator/chat_template.jinja"
port=$((20000 + RANDOM % 20000))
"$dir/searchd" serve --data "$dir/data" --addr "127.0.0.1:$port" --meilisearch --reranker "$root/encoder/testdata/cross-xlmr" \
  --generator "$dir/generator" >"$dir/log" 2>&1 &
server=$!
export SEARCHD_URL=http://127.0.0.1:$port
for _ in $(seq 300); do curl -fs "$SEARCHD_URL/readyz" >/dev/null && break; sleep 0.1; done
curl -fs "$SEARCHD_URL/readyz" >/dev/null || { cat "$dir/log"; exit 1; }

go test -count=1 .

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "node or npm is missing: the clients of Node were not run"
  [ "${CI:-}" != true ] || exit 1
else
  cp "$here"/package.json "$here"/*.mjs "$dir"
  (cd "$dir" && npm install --no-audit --no-fund --no-update-notifier --ignore-scripts --loglevel=error && node --test)
fi

# The last one: its last test makes a key, and from then on every request needs one.
if ! python3 -m venv "$dir/venv" 2>/dev/null; then
  echo "python3 or its venv is missing: the clients of Python were not run"
  [ "${CI:-}" != true ] || exit 1
  exit 0
fi
pip() { "$dir/venv/bin/pip" install -q --no-compile --disable-pip-version-check "$@"; }
# Without the dependencies of its other stores langchain-community installs in a third of the time.
if ! pip -r "$here/requirements.txt" || ! pip --no-deps langchain-community==0.4.2; then
  echo "PyPI cannot be reached: the clients of Python were not run"
  [ "${CI:-}" != true ] || exit 1
  exit 0
fi
"$here/s3.sh" "$dir/searchd" "$SEARCHD_URL" "$dir/venv/bin/moto_server" "$dir/s3"
"$dir/venv/bin/python" -W ignore "$here/langchain_test.py"
"$dir/venv/bin/python" "$here/meilisearch_test.py"
