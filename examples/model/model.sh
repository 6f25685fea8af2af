#!/usr/bin/env bash
# Moves a collection of a running server to another model while it goes on answering.
# usage: model.sh URL MODEL; MODEL as "searchd models pull" names it, or "embedded"
set -euo pipefail
url=$1 model=$2
api() { curl -fsS -H "Authorization: Bearer ${SEARCHD_KEY:-none}" -H 'Content-Type: application/json' "$@"; }

task=$(api "$url/v1/collections/docs/reembed" -d "{\"model\": \"$model\", \"keep_old\": true}" | sed 's/.*"id":"\([^"]*\)".*/\1/')
while state=$(api "$url/v1/tasks/$task" | sed 's/.*"state":"\([a-z]*\)".*/\1/'); do
  case $state in
  queued | running) sleep 0.2 ;;
  succeeded) break ;;
  *) api "$url/v1/tasks/$task"; exit 1 ;;
  esac
done
api "$url/v1/collections/docs" | sed 's/.*"model":{"name":"\([^"]*\)".*/docs is searched with \1/'
api -X DELETE "$url/v1/collections/docs-old"   # or keep it: the way back
