#!/usr/bin/env bash
# Renders deploy/install.yaml. With --check, fails where the file differs.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=$(tests/deploy/tools.sh)
rendered=$(echo "# Generated from deploy/overlays/plain by \`make manifests\`. Do not edit."; "$tools/kustomize" build deploy/overlays/plain)
if [ "${1-}" = --check ]; then
  diff --unified deploy/install.yaml - <<<"$rendered" || { echo "deploy/install.yaml is out of date; run \`make manifests\`" >&2; exit 1; }
else
  echo "$rendered" >deploy/install.yaml
fi
