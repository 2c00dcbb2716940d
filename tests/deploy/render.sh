#!/usr/bin/env bash
# Renders deploy/install.yaml and deploy/olm/manifests. With --check, fails where they differ.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=$(tests/programs/build.sh kustomize)
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

from() { echo "# Generated from $1 by \`make manifests\`. Do not edit."; }

{ from deploy/overlays/plain; "$tools/kustomize" build deploy/overlays/plain; } >"$new/install.yaml"
mkdir "$new/rendered" "$new/manifests"
"$tools/kustomize" build deploy/olm-source --output "$new/rendered"
# From <group>_<version>_<kind>_<name>.yaml to <name>.<kind>.yaml, as bundles name their files.
for file in "$new/rendered/"*.yaml; do
  object=$(basename "$file" .yaml)
  name=${object##*_} rest=${object%_*}
  { from deploy/olm-source; cat "$file"; } >"$new/manifests/$name.${rest##*_}.yaml"
done

if [ "${1-}" = --check ]; then
  diff --unified deploy/install.yaml "$new/install.yaml" && diff --unified --recursive deploy/olm/manifests "$new/manifests" ||
    { echo "what is rendered from deploy is out of date; run \`make manifests\`" >&2; exit 1; }
else
  cp "$new/install.yaml" deploy/install.yaml
  rm -rf deploy/olm/manifests
  cp -r "$new/manifests" deploy/olm/manifests
fi
