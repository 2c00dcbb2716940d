#!/usr/bin/env bash
# Builds programs of others that the tests and the demo run, from the pinned Go module beside this script, into
# target/programs/, those that are not there or older than what they are built from. Prints that folder.
#
#     tests/programs/build.sh                       all
#     tests/programs/build.sh control-plane         etcd, kube-apiserver and kube-controller-manager
#     tests/programs/build.sh deploy                what renders and judges deploy/
#     tests/programs/build.sh helm kustomize        these
#
# They are of one module, so that what they share, which is most of it, is compiled once: minutes the first time.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$here"
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
out=$target/programs

declare -A PACKAGE=(
  [etcd]=go.etcd.io/etcd/server/v3
  [kube-apiserver]=k8s.io/kubernetes/cmd/kube-apiserver
  [kube-controller-manager]=k8s.io/kubernetes/cmd/kube-controller-manager
  [kustomize]=sigs.k8s.io/kustomize/kustomize/v5
  [helm]=helm.sh/helm/v4/cmd/helm
  [actionlint]=github.com/rhysd/actionlint/cmd/actionlint
  [operator-verify]=github.com/operator-framework/api/cmd/operator-verify
  [clusterctl]=sigs.k8s.io/cluster-api/cmd/clusterctl
  [promtool]=github.com/prometheus/prometheus/cmd/promtool
)
CONTROL_PLANE=(etcd kube-apiserver kube-controller-manager)
DEPLOY=(kustomize helm actionlint operator-verify clusterctl promtool)
[ $# = 0 ] && set -- control-plane deploy
wanted=()
for name; do
  case $name in
    control-plane) wanted+=("${CONTROL_PLANE[@]}") ;;
    deploy) wanted+=("${DEPLOY[@]}") ;;
    *)
      [ -n "${PACKAGE[$name]-}" ] || { echo "programs: $name is unknown; choose of ${!PACKAGE[*]}" >&2; exit 2; }
      wanted+=("$name")
      ;;
  esac
done

missing=() packages=()
is_there() { # program
  local source
  [ -x "$out/$1" ] || return
  for source in go.mod go.sum build.sh; do [ "$out/$1" -nt "$source" ] || return; done
}
for name in "${wanted[@]}"; do
  is_there "$name" && continue
  # Whoever is named twice is built once.
  case " ${missing[*]} " in *" $name "*) continue ;; esac
  missing+=("$name")
  packages+=("${PACKAGE[$name]}")
done
[ ${#missing[@]} = 0 ] && { echo "$out"; exit; }
command -v go >/dev/null || { echo "programs: go (1.26.3 or newer) is needed to build ${missing[*]}" >&2; exit 1; }

version=$(sed -nE 's#^\s*k8s\.io/kubernetes (v[0-9.]+).*#\1#p' go.mod)
major=${version#v}; major=${major%%.*}
minor=${version#v*.}; minor=${minor%%.*}
# Nobody debugs them: without the tables for it they are built faster.
ldflags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  ldflags+=" -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
  ldflags+=" -X $package.gitTreeState=clean -X $package.gitCommit=$version -X $package.buildDate=1970-01-01T00:00:00Z"
done

echo "programs: building ${missing[*]} (minutes the first time) ..." >&2
started=$SECONDS
mkdir -p "$out"
new=$(mktemp -d "$out/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
# The compiler takes memory rather than time. promtool goes without the discovery of services, which checks of rules do
# not need: the clients of all clouds take most of the time.
GOGC=400 CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off \
  go build -trimpath -tags remove_all_sd -gcflags=all=-dwarf=false -ldflags "$ldflags" -o "$new/" "${packages[@]}" &
pid=$!
while kill -0 "$pid" 2>/dev/null; do
  sleep 1
  (( (SECONDS - started) % 30 == 0 )) && echo "programs: still building, $((SECONDS - started)) s" >&2
done
wait "$pid"
# Go names a program after its folder.
[ -e "$new/server" ] && mv "$new/server" "$new/etcd"
for name in "${missing[@]}"; do mv "$new/$name" "$out/$name"; done
echo "programs: ${missing[*]} ready after $((SECONDS - started)) s" >&2
echo "$out"
