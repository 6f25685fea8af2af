#!/usr/bin/env bash
# Makes an authority of its own and a certificate that nodes of a cluster prove themselves with.
# usage: certs.sh FOLDER NAME...; the names are the hosts of --node-addr. Needs openssl.
# The authority is kept: a second run with its folder makes another certificate.
set -euo pipefail
into=$1
shift
[ $# -gt 0 ] || { echo "usage: certs.sh FOLDER NAME..." >&2; exit 2; }
mkdir -p "$into"
cd "$into"
names=$(printf 'DNS:%s,' "$@")
umask 077
if [ ! -f ca.key ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=nodes of searchd" -keyout ca.key -out ca.crt 2>/dev/null
fi
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout tls.key -out tls.csr 2>/dev/null
openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 825 -out tls.crt 2>/dev/null \
  -extfile <(printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "${names%,}")
rm -f tls.csr
chmod 644 tls.key tls.crt ca.crt # for the user of the container; ca.key stays with you
