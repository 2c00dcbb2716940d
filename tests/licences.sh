#!/usr/bin/env bash
# Licences, sources and duplicates of what is depended on, judged by cargo-deny: the one that is installed, or else one
# of this version, built quickly for one use.
set -euo pipefail
VERSION=0.20.2
cd "$(dirname "$0")/.."
tools=${CARGO_TARGET_DIR:-target}/tools
PATH=$PWD/$tools/bin:$PATH
command -v cargo-deny >/dev/null || {
  echo "building cargo-deny $VERSION"
  CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --root "$tools" "cargo-deny@$VERSION"
}
cargo deny check bans licenses sources
