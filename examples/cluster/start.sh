#!/usr/bin/env bash
# Starts a cluster of three nodes on this machine, and stops them when it is stopped.
# usage: start.sh [FOLDER]; the nodes' data folders go into FOLDER (default data/cluster)
# PORT is the first of the three ports of the API, NODE_PORT that of the ports between nodes.
set -euo pipefail
into=${1:-data/cluster} port=${PORT:-8081} node=${NODE_PORT:-6222}
program=$(command -v searchd || echo bin/searchd)
[ -x "$program" ] || { echo "there is no searchd in PATH and no bin/searchd: make build" >&2; exit 2; }
mkdir -p "$into"

peers=127.0.0.1:$node,127.0.0.1:$((node + 1)),127.0.0.1:$((node + 2))
nodes=()
trap 'kill "${nodes[@]}" 2>/dev/null; wait' EXIT
trap exit INT TERM
for i in 0 1 2; do
  "$program" serve --cluster demo --data "$into/n$((i + 1))" --addr "127.0.0.1:$((port + i))" \
    --node-addr "127.0.0.1:$((node + i))" --peers "$peers" 2>"$into/n$((i + 1)).log" &
  nodes+=($!)
done
echo "three nodes start: http://127.0.0.1:$port/ to http://127.0.0.1:$((port + 2))/, logs in $into"
wait -n "${nodes[@]}" || true
echo "a node has ended: see the logs in $into" >&2
exit 1
