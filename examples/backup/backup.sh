#!/usr/bin/env bash
# Backs up a running server, verifies the file, restores it into a new data folder and checks that.
# usage: backup.sh URL FOLDER; the backup and the restored folder go into FOLDER
set -euo pipefail
url=$1 into=$2
file=$into/searchd-$(date +%Y-%m-%d).backup
mkdir -p "$into"

searchd backup --server "$url" "$file"             # SEARCHD_KEY where the server wants a key
searchd backup --verify "$file"
searchd restore "$file" --data "$into/restored"
searchd check --deep --data "$into/restored"
