#!/usr/bin/env bash
# verify.sh [TEXTS]: compare bin/searchd with ONNX Runtime on two published models and 2,000 texts, or as many as are named.
# Downloads the models and the Python modules of requirements.txt; reports if they cannot be had.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$work/venv/bin/python
status=0
for tool in python3 mvn; do
  command -v $tool >/dev/null || status=3
done
if [ $status = 0 ]; then
  python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q -r requirements.txt || status=3
fi
if [ $status = 0 ]; then
  "$python" teachers.py "$work/teachers" || status=$?
fi
if [ $status = 0 ]; then
  "$python" verify.py ../bin/searchd "$work/teachers" "${1:-2000}" || status=$?
fi
if [ $status = 3 ]; then
  echo "the models or the Python modules cannot be downloaded: not compared"
  exit 0
fi
exit $status
