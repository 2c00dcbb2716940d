#!/usr/bin/env bash
# Builds the controllers of others that make our requests, and metal3's that powers hosts beside us, at pinned versions,
# into target/upstream/, each beside the definitions and roles it is shipped with, unless they are there already. Prints the
# variables that tests/upstream_*.rs are driven by:
#
#     eval "$(tests/upstream/build.sh)"
#
# The sources come from the Go module proxy. Where it does not serve one of these modules, name a clone
# or the repository's address: MACHINE_API_OPERATOR_GIT, NODE_HEALTHCHECK_OPERATOR_GIT, CLUSTER_API_GIT,
# BAREMETAL_OPERATOR_GIT, IRONIC_STANDALONE_OPERATOR_GIT.
set -euo pipefail

# module, version, commit of that version
# https://github.com/openshift/machine-api-operator, main of 2026-08-17
MACHINE_API_OPERATOR=(github.com/openshift/machine-api-operator
  v0.2.1-0.20260817215648-951196122fe4 951196122fe4f1115782da6c14660116905029c4)
# https://github.com/medik8s/node-healthcheck-operator, main of 2026-07-22
NODE_HEALTHCHECK_OPERATOR=(github.com/medik8s/node-healthcheck-operator
  v0.12.1-0.20260722135805-dd44432997c6 dd44432997c6edb4b577043919c4701c16524a73)
# https://github.com/kubernetes-sigs/cluster-api, its release
CLUSTER_API=(sigs.k8s.io/cluster-api v1.14.2 v1.14.2)
# https://github.com/metal3-io/baremetal-operator, main of 2026-08-20
BAREMETAL_OPERATOR=(github.com/metal3-io/baremetal-operator
  v0.14.0-rc.0.0.20260820074359-02aa5059e348 02aa5059e3482f9dc3b5115c3a45cec4b000ae16)
# https://github.com/metal3-io/ironic-standalone-operator, whose API its provisioner reads
IRONIC_STANDALONE_OPERATOR=(github.com/metal3-io/ironic-standalone-operator v0.11.0 v0.11.0)

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
out=$target/upstream
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
mkdir -p "$out"

die() { echo "upstream controllers: $*" >&2; exit 1; }
command -v go >/dev/null || die "go (1.26 or newer) is needed to build them"

module_folder() { # module version: downloads it, prints its folder
  local answer
  answer=$(cd "$out" && go mod download -json "$1@$2") || {
    echo "$answer" | sed -n 's/^\s*"Error": "\(.*\)".*/\1/p' >&2
    return 1
  }
  echo "$answer" | sed -n 's/^\s*"Dir": "\(.*\)".*/\1/p'
}

from_proxy() { # module version folder
  local folder
  folder=$(module_folder "$1" "$2") || return 1
  cp -r "$folder/." "$3"
  chmod -R u+w "$3"
}

from_git() { # repository commit folder
  git init --quiet "$3"
  git -C "$3" fetch --quiet --depth 1 "$1" "$2"
  git -C "$3" -c advice.detachedHead=false checkout --quiet FETCH_HEAD
}

sources() { # module version commit variable folder
  local repository=${!4-}
  if [ -n "$repository" ]; then
    from_git "$repository" "$3" "$5"
  elif ! from_proxy "$1" "$2" "$5"; then
    die "the module proxy does not serve $1; set $4 to a clone of it or to the repository's address"
  fi
  # A module inside the module is not part of its archive.
  if [ ! -d "$5/api" ] && grep -q "^replace $1/api => ./api" "$5/go.mod"; then
    mkdir "$5/api"
    from_proxy "$1/api" "$2" "$5/api"
  fi
}

# baremetal-operator loads its provisioner for Ironic at run time, as a plugin that is built with the same flags.
with_its_provisioner() { # scratch
  local source=$1/source api
  export CGO_ENABLED=1
  if [ -n "${IRONIC_STANDALONE_OPERATOR_GIT-}" ]; then
    from_git "$IRONIC_STANDALONE_OPERATOR_GIT" "${IRONIC_STANDALONE_OPERATOR[2]}" "$1/ironic"
    api=$1/ironic/api
  elif ! api=$(module_folder "${IRONIC_STANDALONE_OPERATOR[0]}/api" "${IRONIC_STANDALONE_OPERATOR[1]}"); then
    die "the module proxy does not serve ${IRONIC_STANDALONE_OPERATOR[0]}; set IRONIC_STANDALONE_OPERATOR_GIT to a clone of it"
  fi
  (cd "$source" && go mod edit -replace "${IRONIC_STANDALONE_OPERATOR[0]}/api=$api" &&
    go build -mod=mod -trimpath -ldflags '-s -w' -buildmode=plugin -o "$1/ironic-provisioner.so" \
      ./pkg/provisioner/ironic/plugin/) || die "the provisioner of baremetal-operator cannot be built"
  export GOFLAGS=-mod=mod
}

build() { # name package variable-of-the-source crds rbac module version commit
  local name=$1 package=$2 variable=$3 crds=$4 rbac=$5 started=$SECONDS
  local folder=$out/$name-$7
  [ -x "$folder/$name" ] && return
  echo "upstream controllers: building $name $7 (minutes the first time) ..." >&2
  local scratch=$out/.$name.new
  rm -rf "$scratch" "$folder"
  mkdir -p "$scratch/source" "$scratch/crds" "$scratch/rbac"
  sources "$6" "$7" "$8" "$variable" "$scratch/source"
  if [ "$name" = baremetal-operator ]; then with_its_provisioner "$scratch"; fi
  (cd "$scratch/source" && go build -trimpath -ldflags '-s -w' -o "$scratch/$name" "$package") ||
    die "$name cannot be built; where a module that it needs is not served, set $variable: its repository may carry them"
  # shellcheck disable=SC2086 # patterns and lists of files
  (cd "$scratch/source" && cp $crds "$scratch/crds/" && cp $rbac "$scratch/rbac/")
  rm -rf "$scratch/source" "$scratch/ironic"
  mv "$scratch" "$folder"
  echo "upstream controllers: $name is ready after $((SECONDS - started)) s" >&2
}

build machine-healthcheck ./cmd/machine-healthcheck MACHINE_API_OPERATOR_GIT \
  "install/*_02_machine.Default.crd.yaml install/*_07_machinehealthcheck.crd.yaml" "install/*_09_rbac.yaml" \
  "${MACHINE_API_OPERATOR[@]}"
build node-healthcheck-operator ./cmd NODE_HEALTHCHECK_OPERATOR_GIT \
  "config/crd/bases/*.yaml" "config/rbac/role.yaml" "${NODE_HEALTHCHECK_OPERATOR[@]}"
build cluster-api-manager ./core CLUSTER_API_GIT \
  "core/config/crd/bases/*.yaml" "core/config/rbac/role.yaml core/config/rbac/aggregated_role.yaml" "${CLUSTER_API[@]}"
build baremetal-operator . BAREMETAL_OPERATOR_GIT \
  "config/base/crds/bases/*.yaml" "config/base/rbac/role.yaml" "${BAREMETAL_OPERATOR[@]}"

echo "export MACHINE_HEALTHCHECK=$out/machine-healthcheck-${MACHINE_API_OPERATOR[1]}/machine-healthcheck"
echo "export NODE_HEALTHCHECK_OPERATOR=$out/node-healthcheck-operator-${NODE_HEALTHCHECK_OPERATOR[1]}/node-healthcheck-operator"
echo "export CLUSTER_API_MANAGER=$out/cluster-api-manager-${CLUSTER_API[1]}/cluster-api-manager"
echo "export BAREMETAL_OPERATOR=$out/baremetal-operator-${BAREMETAL_OPERATOR[1]}/baremetal-operator"
