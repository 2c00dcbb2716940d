#!/bin/sh
# Installs the tools of others that bmc-simulator is judged by: Python tools into a virtual environment
# under the target folder, Debian packages as root. Does nothing for what is there already.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=${CARGO_TARGET_DIR:-$root/target}/peers/conformance
wanted=$(sha256sum "$here/requirements.txt" | cut -c1-16)
stamp=$venv/installed-$wanted

missing=
for pair in ipmitool:ipmitool ipmipower:freeipmi-tools fence_redfish:fence-agents; do
    command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair##*:}"
done
if [ -n "$missing" ]; then
    [ "$(id -u)" = 0 ] || {
        echo "these Debian packages are missing; install them as root:$missing" >&2
        exit 1
    }
    echo "Installing$missing"
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

if [ ! -e "$stamp" ]; then
    command -v python3 >/dev/null || {
        echo "python3 is missing; install it with its venv module" >&2
        exit 1
    }
    echo "Installing the tools of requirements.txt into $venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    touch "$stamp"
fi
echo "The tools of others are installed"
