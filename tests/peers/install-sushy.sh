#!/bin/sh
# Installs sushy-emulator, a BMC of others that our daemon is tested against, into a virtual
# environment under the target folder. Does nothing when that version is there already.
set -eu

VERSION=2.2.0
root=$(cd "$(dirname "$0")/../.." && pwd)
venv=${CARGO_TARGET_DIR:-$root/target}/peers/sushy
stamp=$venv/installed-$VERSION

if [ -e "$stamp" ]; then
    echo "sushy-tools $VERSION is installed in $venv"
    exit 0
fi
command -v python3 >/dev/null || {
    echo "python3 is missing; install it with its venv module" >&2
    exit 1
}
echo "Installing sushy-tools $VERSION into $venv"
rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "sushy-tools==$VERSION" bcrypt
touch "$stamp"
