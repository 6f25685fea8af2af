#!/bin/bash
# Measures a collection of many documents from end to end: `ingest` into a new data folder, a server that is searched, `searchd check --deep`.
# usage: scale.sh BIN DIR [DOCUMENTS]; BIN holds searchd and ingest, DIR keeps the documents and the data folder. Linux, curl and GNU time.
# Documents have 60 words, a title, a language, a year, a price, a date and tags. Delete DIR to measure another number of documents.
set -euo pipefail
bin=$1 dir=$2 n=${3:-1000000}
mkdir -p "$dir"
docs=$dir/docs.jsonl data=$dir/data addr=127.0.0.1:18080

# Words of 2,000 subjects and of a vocabulary in which few words are common; the i-th document is the same in every run.
if [ ! -e "$docs" ]; then
  awk -v n="$n" '
    function common() { return word[1 + int(words * exp(-7 * rand()))] }
    function text(subject, k,   s) {
      for (s = ""; k > 0; k--) s = s (s == "" ? "" : " ") (rand() < .33 ? word[1 + (subject * 12 + int(rand() * 12)) * 7919 % words] : common())
      return s
    }
    BEGIN {
      srand(1); parts = split("ba ce di fo gu ka le mi no pu ra se ti vo zu han mel rin tor wus", p, " ")
      for (words = 0; words < 8000; ) { words++; for (k = 2 + words % 3; k > 0; k--) word[words] = word[words] p[1 + int(rand() * parts)] }
      split("en en en en de fr es it", lang, " ")
      for (i = 0; i < n; i++) {
        subject = int(rand() * 2000); year = 2000 + int(rand() * 25)
        printf "{\"id\":\"doc-%07d\",\"title\":\"%s\",\"text\":\"%s\",\"lang\":\"%s\",\"year\":%d,\"price\":%.2f,\"date\":\"%d-%02d-%02d\",\"tags\":[\"%s\",\"tag%d\"]}\n",
          i, text(subject, 4), text(subject, 60), lang[1 + int(rand() * 8)], year, rand() * 10000, year, 1 + int(rand() * 12), 1 + int(rand() * 28), text(subject, 1), int(rand() * 500)
      }
    }' >"$docs"
fi

# measured NAME COMMAND...: what a command took, as a row.
measured() {
  local name=$1
  shift
  /usr/bin/time -o "$dir/time" -f "%e s, %U s of processor time, at most %M KB" "$@" >&2
  echo "| $name | $(cat "$dir/time") |"
}

printf '| %d documents | |\n|---|---|\n' "$n"
[ -e "$data" ] || measured ingest "$bin/ingest" --data "$data" "$docs"
echo "| documents, store, indexes | $(du -sm "$docs" "$data/searchd.db" "$data/indexes" | awk '{printf "%s%d MB", (NR > 1 ? ", " : ""), $1}') |"

"$bin/searchd" serve --data "$data" --addr $addr 2>"$dir/serve.log" &
server=$!
trap 'kill $server 2>/dev/null' EXIT
began=$(date +%s%N)
until curl -sfo /dev/null http://$addr/readyz; do kill -0 $server && sleep .02; done
echo "| ready after | $(awk -v t=$(($(date +%s%N) - began)) 'BEGIN { printf "%.1f s", t / 1e9 }') |"
memory() { awk '/^VmRSS/ { all = $2 } /^RssAnon/ { own = $2 } END { printf "%d MB, %d MB of them not mapped files", all / 1024, own / 1024 }' /proc/$server/status; }
echo "| memory | $(memory) |"

# ask NAME AWK BODY: the median and the largest time of 50 searches for what AWK makes of the words of titles, others each time.
asked=0
ask() {
  sed -n "$((asked + 1)),$((asked + 50))p; $((asked + 50))q" "$docs" | sed 's/.*"title":"\([^"]*\)".*/\1/' | awk "{ $2 }" | while read -r q; do
    curl -sfo /dev/null -w '%{time_total}\n' -H 'Content-Type: application/json' -d "{\"q\": \"$q\"${3:+, $3}}" http://$addr/v1/collections/docs/search
  done | sort -n | awk -v name="$1" '{ t[NR] = $1 * 1000 } END { printf "| %s | %.1f ms, at most %.0f |\n", name, t[int((NR + 1) / 2)], t[NR] }'
  asked=$((asked + 50))
}
three='print $1, $2, $3'
ask "keyword, three words" "$three" '"mode": "keyword"'
ask "semantic" "$three" '"mode": "semantic"'
ask "hybrid" "$three" ''
ask "hybrid, one in eight passes the filter" "$three" "\"filter\": \"lang = 'de'\""
ask "hybrid, half pass the filter" "$three" '"filter": "price < 5000"'
ask "hybrid, three facets" "$three" '"facets": ["lang", "year", "tags"]'
ask "no words, three facets, no hits" 'print ""' '"facets": ["lang", "year", "tags"], "limit": 0'
ask "no words, sorted by price" 'print ""' '"sort": ["price"]'
ask "no words, sorted by price, offset 9,900" 'print ""' '"sort": ["price"], "offset": 9900, "window": 10000'
ask "a misspelled word" 'print substr($1, 2) substr($1, 1, 1)' '"mode": "keyword"'
ask "a phrase of two words" 'print "\\\"" $1 " " $2 "\\\""' '"mode": "keyword"'
curl -sf http://$addr/metrics | awk '/^searchd_index_sampled_recall{collection="docs"}/ { print "| recall@10 of stored vectors | " $2 " |" }'
echo "| memory after these | $(memory) |"
kill $server && wait $server || true
measured "searchd check --deep" "$bin/searchd" check --deep --data "$data"
