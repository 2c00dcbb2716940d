#!/bin/sh
# Installs Ironic, which switches hosts on and off for metal3, into a virtual environment under the target
# folder, with the versions of ironic-constraints.txt. Does nothing when they are there already.
set -eu

VERSION=39.0.0
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=${CARGO_TARGET_DIR:-$root/target}/peers/ironic-$VERSION
stamp=$venv/installed-$(cksum <"$here/ironic-constraints.txt" | tr ' ' '-')

if [ -e "$stamp" ] && "$venv/bin/python" -c 'import ironic' 2>/dev/null; then
    echo "Ironic $VERSION is installed in $venv"
    exit 0
fi
command -v python3 >/dev/null || {
    echo "python3 is missing; install it with its venv module" >&2
    exit 1
}
echo "Installing Ironic $VERSION into $venv"
rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check \
    --constraint "$here/ironic-constraints.txt" "ironic==$VERSION"
touch "$stamp"
