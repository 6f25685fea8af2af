#!/usr/bin/env bash
# Searches a folder of notes: ingests it, asks it, and follows its changes while a server runs.
# usage: notes.sh FOLDER; DATA and ADDR name the data folder and the server's address.
set -euo pipefail
notes=$1 data=${DATA:-data/notes} addr=${ADDR:-127.0.0.1:8080}
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT

ingest --data "$data" "$notes"
searchd query --data "$data" --limit 3 "how much money to keep for emergencies"

# From here on the server holds the data folder, and ingest sends it what changes.
searchd serve --data "$data" --addr "$addr" 2>"$data.log" &
until searchd health --addr "$addr" 2>/dev/null; do sleep 0.2; done
ingest --server "http://$addr" --watch --delete-missing "$notes" &

echo "A spare key is with the neighbour in number twelve." >"$notes/spare-key.txt"
for _ in $(seq 100); do
  answer=$(searchd query --server "http://$addr" --limit 1 "where is the spare key")
  if grep -q neighbour <<<"$answer"; then
    echo "$answer"
    exit
  fi
  sleep 0.2
done
echo "the new note was not found" >&2
exit 1
