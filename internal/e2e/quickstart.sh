#!/usr/bin/env bash
# Runs the quick start of the README and then its three nodes, line by line as they stand there, on
# ports of their own.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
servers=()
trap 'status=$?; [ $status = 0 ] || tail -n 20 "$dir"/log "$dir"/cluster/*.log 2>/dev/null || true
  kill "${servers[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"; exit $status' EXIT
port=$((20000 + RANDOM % 20000))

# The lines between two markers, with a data folder and ports of this run's own.
export XDG_DATA_HOME=$dir/share SEARCHD_ADDR=127.0.0.1:$port PORT=$((port + 1)) NODE_PORT=$((port + 4))
unset SEARCHD_DATA SEARCHD_SERVER SEARCHD_KEY
lines() {
  sed -n "/<!-- $1 -->/,/<!-- end -->/p" README.md | sed -n '/^```sh$/,/^```$/p' | sed '/^```/d' |
    sed -e "s#8080#$port#g; s#8081#$((port + 1))#g; s#8083#$((port + 3))#g; s#start.sh#start.sh $dir/cluster#" >"$dir/commands"
  [ "$(wc -l <"$dir/commands")" -ge "$2" ] || { echo "the README has no $1"; exit 1; }
}
run() {
  while IFS= read -r line; do
    echo "+ $line"
    case "$line" in
    *'&')
      sed 's/^/exec /; s/ *&$//' <<<"$line" >"$dir/server" # so that the server is what is ended
      bash "$dir/server" >"$dir/log" 2>&1 &
      servers+=($!)
      ;;
    *) bash -euo pipefail -c "$line" | tee "$dir/out" | cut -c1-300 ;;
    esac
  done <"$dir/commands"
}

lines "quick start" 5
run
grep -q '"hits":\[{' "$dir/out" || { echo "the last command found nothing"; exit 1; }
echo "quick start: done"

unset SEARCHD_ADDR
lines "three nodes" 3
run
grep -q 'bicycle-puncture.md' "$dir/out" || { echo "the third node found something else"; exit 1; }
echo "three nodes: done"
