#!/bin/sh
# Installs the IPMI BMCs of others that our driver is tested against: OpenIPMI's ipmi_sim from the
# distribution, pyghmi's server into a virtual environment under the target folder. Does nothing when both
# are there already.
set -eu

VERSION=1.6.19
root=$(cd "$(dirname "$0")/../.." && pwd)
venv=${CARGO_TARGET_DIR:-$root/target}/peers/pyghmi

if command -v ipmi_sim >/dev/null; then
    echo "ipmi_sim is installed"
elif command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "Installing OpenIPMI for its ipmi_sim"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openipmi >/dev/null
else
    echo "ipmi_sim is missing; install OpenIPMI (Debian: apt-get install openipmi)" >&2
    exit 1
fi

if [ -e "$venv/installed-$VERSION" ] && "$venv/bin/python" -c 'import pyghmi' 2>/dev/null; then
    echo "pyghmi $VERSION is installed in $venv"
    exit 0
fi
command -v python3 >/dev/null || {
    echo "python3 is missing; install it with its venv module" >&2
    exit 1
}
echo "Installing pyghmi $VERSION into $venv"
rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check "pyghmi==$VERSION"
touch "$venv/installed-$VERSION"
