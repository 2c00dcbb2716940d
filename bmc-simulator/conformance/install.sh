#!/bin/sh
# Installs the tools of others that bmc-simulator is judged by: Python tools into a virtual environment
# under the target folder, Debian packages as root. Does nothing for what is there already.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
peers=${CARGO_TARGET_DIR:-$root/target}/peers
venv=$peers/conformance
# The place counts too: the programs of a virtual environment name it, and fail in a checkout that was moved.
wanted=$({ cat "$here/requirements.txt"; echo "$venv"; } | sha256sum | cut -c1-16)
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

# The schema files that the service validator compares with, so that it needs no network.
schemas=$peers/redfish-schemas
if [ ! -e "$schemas/ServiceRoot_v1.xml" ]; then
    command -v cargo >/dev/null || {
        echo "cargo is missing; install Rust" >&2
        exit 1
    }
    echo "Fetching the Redfish schemas into $schemas"
    manifest=$(cargo metadata --locked --format-version 1 --manifest-path "$here/schemas/Cargo.toml" |
        "$venv/bin/python" -c '
import json, sys
packages = json.load(sys.stdin)["packages"]
print(next(p["manifest_path"] for p in packages if p["name"] == "nv-redfish-schema"))')
    rm -rf "$schemas.new"
    mkdir -p "$schemas.new"
    cp "$(dirname "$manifest")"/redfish-csdl/csdl/*.xml "$schemas.new"
    mv "$schemas.new" "$schemas"
fi
echo "The tools of others are installed"
