#!/usr/bin/env bash
# Validates compose.yaml with Compose's own parser, and kubernetes.yaml with the schemas of Kubernetes.
# Both come from public registries, in the versions named here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/main.go" <<'GO'
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	o, err := cli.NewProjectOptions(os.Args[1:], cli.WithOsEnv)
	if err == nil {
		_, err = o.LoadProject(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
GO
(
  cd "$work"
  go mod init validate 2>/dev/null
  go mod edit -require github.com/compose-spec/compose-go/v2@v2.16.2
  go mod tidy 2>/dev/null
  SEARCHD_ADMIN_KEY=any go run . "$here/compose.yaml"
)
echo "compose.yaml is valid"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==1.37.0
"$work/venv/bin/kubernetes-validate" --strict --quiet "$here/kubernetes.yaml"
echo "kubernetes.yaml is valid"
