#!/usr/bin/env bash
# Speaks the Model Context Protocol as an assistant does: over HTTP with a server, over a pipe without.
# usage: assistant.sh URL DATA: a running server, and a data folder that no process uses
set -euo pipefail
url=$1 data=$2
call='{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"collection":"docs","query":"fixing a flat tyre","limit":1}}}'

echo "over HTTP:"
curl -fsS "$url/mcp" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
  -H "X-Api-Key: ${SEARCHD_KEY:-}" -d "$call"
echo

echo "over a pipe:"
searchd mcp --data "$data" <<END
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"example","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
$call
END
