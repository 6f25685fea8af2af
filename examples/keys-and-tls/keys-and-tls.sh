#!/usr/bin/env bash
# Serves a data folder over HTTPS to holders of a key. The certificate is signed by itself: in
# production it comes from an authority.
# usage: keys-and-tls.sh DATA, a data folder that no process uses; ADDR names the server's address
set -euo pipefail
data=$1 addr=${ADDR:-127.0.0.1:8443}
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
  -addext subjectAltName=IP:127.0.0.1 -keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null

# The operator's key may do everything; the shop's may search one kind of collection.
admin=$(searchd keys create --data "$data" --name admin --scopes all)
searchd serve --data "$data" --addr "$addr" --tls-cert "$dir/cert.pem" --tls-key "$dir/key.pem" \
  2>"$dir/serve.log" &
until searchd health --addr "$addr" --tls-cert "$dir/cert.pem" 2>/dev/null; do sleep 0.2; done
export SSL_CERT_FILE=$dir/cert.pem CURL_CA_BUNDLE=$dir/cert.pem
shop=$(searchd keys create --server "https://$addr" --key "$admin" --name shop --scopes search --collections 'docs*' --expires 90d)

request() { curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $1" "https://$addr/v1/collections/docs$2"; }
echo "search with the shop's key:      $(request "$shop" '/search?q=bread')"
echo "read documents with it:          $(request "$shop" '/documents')"
echo "search without a key:            $(request none '/search?q=bread')"
searchd keys revoke --server "https://$addr" --key "$admin" "$(cut -d_ -f2 <<<"$shop")"
echo "search after it was revoked:     $(request "$shop" '/search?q=bread')"
