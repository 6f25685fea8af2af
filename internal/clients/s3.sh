#!/usr/bin/env bash
# Backs up a server and a data folder to a storage that speaks S3 and is not ours, lists, verifies
# and restores; and kills a server in the middle of a scheduled backup.
# usage: s3.sh SEARCHD URL MOTO_SERVER FOLDER
set -euo pipefail
searchd=$1 url=$2 moto=$3 dir=$4
mkdir -p "$dir"
port=$((20000 + RANDOM % 20000)) addr=127.0.0.1:$((40000 + RANDOM % 20000))
trap 'kill "${storage:-}" "${server:-}" 2>/dev/null || true; wait 2>/dev/null || true' EXIT
"$moto" -H 127.0.0.1 -p "$port" >"$dir/storage.log" 2>&1 &
storage=$!
export AWS_ENDPOINT_URL=http://127.0.0.1:$port AWS_ACCESS_KEY_ID=testing AWS_SECRET_ACCESS_KEY=never-printed AWS_REGION=us-east-1
for _ in $(seq 300); do curl -fs -X PUT "$AWS_ENDPOINT_URL/backups" >/dev/null && break; sleep 0.1; done
fail() { echo "s3.sh: $1"; cat "$dir"/*.log; exit 1; }
uploads() { curl -fs "$AWS_ENDPOINT_URL/backups?uploads" | grep -c '<UploadId>' || true; }

"$searchd" backup --server "$url" s3://backups/a/one.backup 2>>"$dir/out.log"
"$searchd" backup --verify s3://backups/a/one.backup >>"$dir/out.log"
"$searchd" restore s3://backups/a/one.backup --data "$dir/one" 2>>"$dir/out.log"
"$searchd" backup --data "$dir/one" s3://backups/b/ 2>>"$dir/out.log"
[ "$("$searchd" backup --list --json s3://backups/b/ | grep -o '"name"' | wc -l)" = 1 ] || fail "the list has not one backup"
"$searchd" restore s3://backups/b/ --data "$dir/two" 2>>"$dir/out.log"
"$searchd" check --deep --data "$dir/two" >>"$dir/out.log" 2>&1 || fail "the restored folder differs"
! "$searchd" backup --data "$dir/two" s3://nowhere/x 2>>"$dir/out.log" || fail "a backup went to a bucket that does not exist"

# 40 MB of vectors are three parts.
echo '{"embedder": {"source": "given", "dimension": 2000}}' >"$dir/settings.json"
awk 'BEGIN { srand(1); for (i = 0; i < 5000; i++) { printf "{\"id\":\"%d\",\"vector\":[", i; for (d = 0; d < 2000; d++) printf "%s%.3f", d ? "," : "", rand() - 0.5; print "]}" } }' >"$dir/vectors.jsonl"
"$searchd" ingest --data "$dir/big" --settings "$dir/settings.json" "$dir/vectors.jsonl" >>"$dir/out.log" 2>&1
begin() {
  "$searchd" serve --data "$dir/big" --addr "$addr" --backup-to s3://backups/c --backup-every 1h 2>>"$dir/server.log" &
  server=$!
}
begin
for _ in $(seq 2000); do [ "$(uploads)" = 0 ] || break; sleep 0.01; done
kill -9 $server
wait $server 2>/dev/null || true
echo "killed with $(uploads) upload under way" >>"$dir/out.log"
begin
for _ in $(seq 300); do grep -q 'backup written and verified' "$dir/server.log" && break; sleep 0.1; done
[ "$(uploads)" = 0 ] || fail "parts of the interrupted backup are left"
"$searchd" restore s3://backups/c/ --data "$dir/three" 2>>"$dir/out.log"
! grep -h never-printed "$dir"/*.log || fail "the secret key was printed"
echo "searchd and a storage that speaks S3: backups come back, and nothing of an interrupted one is left"
