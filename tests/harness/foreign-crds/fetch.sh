#!/usr/bin/env bash
# Copies the custom resource definitions of Metal3 and Cluster API out of the pinned Go modules
# beside this script into target/foreign-crds/, unless they are there already.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
out=$target/foreign-crds
cd "$here"

stamp=$(cat go.mod go.sum fetch.sh | cksum)
if [ -f "$out/.stamp" ] && [ "$(cat "$out/.stamp")" = "$stamp" ]; then
  echo "$out"
  exit
fi
command -v go >/dev/null || { echo "foreign CRDs: go (1.26 or newer) is needed to fetch them" >&2; exit 1; }
export GOTOOLCHAIN=local GOWORK=off

# Beside the final place first, so that an interrupted run leaves nothing half done.
new=$out.new
rm -rf "$new"
copy() { # module, folder inside it, name of ours
  local folder
  go mod download "$1"
  folder=$(go list -m -f '{{.Dir}}' "$1")/$2
  mkdir -p "$new/$3"
  cp "$folder"/*.yaml "$new/$3/"
}
copy github.com/metal3-io/baremetal-operator config/base/crds/bases metal3
copy sigs.k8s.io/cluster-api config/crd/bases cluster-api

chmod -R u+w "$new"
echo "$stamp" > "$new/.stamp"
rm -rf "$out"
mv "$new" "$out"
echo "$out"
