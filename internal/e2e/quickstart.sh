#!/usr/bin/env bash
# Runs the quick start of the README, line by line as it stands there, against a server on a port of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$dir"' EXIT
port=$((20000 + RANDOM % 20000))

# The lines between the markers, with a data folder and a port of this run's own.
export XDG_DATA_HOME=$dir/share SEARCHD_ADDR=127.0.0.1:$port
unset SEARCHD_DATA SEARCHD_SERVER SEARCHD_KEY
sed -n '/<!-- quick start -->/,/<!-- end -->/p' README.md | sed -n '/^```sh$/,/^```$/p' | sed '/^```/d' |
  sed -e "s#8080#$port#g" >"$dir/commands"
[ "$(wc -l <"$dir/commands")" -ge 5 ] || { echo "the README has no quick start"; exit 1; }

while IFS= read -r line; do
  echo "+ $line"
  case "$line" in
  *'&')
    sed 's/^/exec /; s/ *&$//' <<<"$line" >"$dir/server" # so that the server is what is ended
    bash "$dir/server" >"$dir/log" 2>&1 &
    server=$!
    ;;
  *) bash -euo pipefail -c "$line" | tee "$dir/out" | cut -c1-300 ;;
  esac
done <"$dir/commands"
grep -q '"hits":\[{' "$dir/out" || { echo "the last command found nothing"; exit 1; }
echo "quick start: done"
