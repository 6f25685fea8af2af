#!/usr/bin/env bash
# A product catalogue: settings, an import, and a search with filter, facets, order and boosts.
# usage: catalogue.sh URL, of a running server; SEARCHD_KEY where it wants a key.
set -euo pipefail
url=$1 here=$(cd "$(dirname "$0")" && pwd)
api() { curl -fsS -H "Authorization: Bearer ${SEARCHD_KEY:-none}" "$@"; }

# 1. The collection: what is text, what is only a value, and words that mean the same.
api -X PUT "$url/v1/collections/products" -H 'Content-Type: application/json' -d '{
  "settings": {
    "fields": {
      "name": {"type": "text", "weight": 3},
      "description": {"type": "text"},
      "brand": {"type": "filter"},
      "category": {"type": "filter"}
    },
    "synonyms": ["torch, flashlight", "trainers, sneakers => shoe"]
  }
}' >/dev/null

# 2. The products, a JSON object per line. Sending them again changes nothing.
api "$url/v1/collections/products/documents/import" -H 'Content-Type: application/x-ndjson' \
  --data-binary "@$here/products.jsonl" | tail -1

# 3. What a shop's page asks: text, conditions, counts for the sidebar, popular things first.
api "$url/v1/collections/products/search" -H 'Content-Type: application/json' -d '{
  "q": "something dry for hiking in the rain",
  "filter": "price < 200 AND stock > 0",
  "facets": ["category", "brand", {"field": "price", "ranges": [{"to": 100}, {"from": 100}]}],
  "boosts": [{"field": "added", "origin": "2026-06-01", "scale": "90d", "weight": 0.2}],
  "return_fields": ["name", "price", "category"],
  "limit": 3
}'
echo

# 4. A category page: no text, cheapest first.
api "$url/v1/collections/products/search" -H 'Content-Type: application/json' -d '{
  "filter": "category = '\''camping'\''", "sort": ["price:asc"], "return_fields": ["name", "price"]
}'
echo
