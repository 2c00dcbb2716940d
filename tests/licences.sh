#!/usr/bin/env bash
# Licences, sources and duplicates of what is depended on, judged by cargo-deny of this version, which is built
# quickly where another or none is installed.
set -euo pipefail
VERSION=0.20.2
cd "$(dirname "$0")/.."
tools=${CARGO_TARGET_DIR:-target}/tools
PATH=$PWD/$tools/bin:$PATH
installed=$(cargo-deny --version 2>/dev/null || true)
[ "$installed" = "cargo-deny $VERSION" ] || {
  echo "building cargo-deny $VERSION"
  env -u RUSTC_WORKSPACE_WRAPPER CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --root "$tools" "cargo-deny@$VERSION"
}
cargo-deny check bans licenses sources
