#!/usr/bin/env bash
# Builds etcd, kube-apiserver and kube-controller-manager from the pinned Go module beside this
# script into target/control-plane/<version>/, unless they are there already. The first build takes
# about eight minutes on two cores; later ones take seconds.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
cd "$here"
version=$(sed -nE 's#^\s*k8s\.io/kubernetes (v[0-9.]+).*#\1#p' go.mod)
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
out=$target/control-plane/$version
mkdir -p "$out"

command -v go >/dev/null || { echo "control plane: go (1.26 or newer) is needed to build it" >&2; exit 1; }

major=${version#v}; major=${major%%.*}
minor=${version#v*.}; minor=${minor%%.*}
ldflags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  ldflags+=" -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
  ldflags+=" -X $package.gitTreeState=clean -X $package.gitCommit=$version -X $package.buildDate=1970-01-01T00:00:00Z"
done

build() { # name package
  local name=$1 package=$2 started=$SECONDS
  [ -x "$out/$name" ] && [ "$out/$name" -nt go.sum ] && return
  echo "control plane: building $name $version (up to eight minutes the first time) ..." >&2
  CGO_ENABLED=0 GOTOOLCHAIN=local go build -trimpath -ldflags "$ldflags" -o "$out/.$name.new" "$package" &
  local pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1
    (( (SECONDS - started) % 30 == 0 )) && echo "control plane: still building $name, $((SECONDS - started)) s" >&2
  done
  wait "$pid"
  mv "$out/.$name.new" "$out/$name"
  touch "$out/$name"
  echo "control plane: $name is ready after $((SECONDS - started)) s" >&2
}

build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
echo "$out"
