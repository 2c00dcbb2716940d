#!/bin/sh
# Installs libfaketime from the distribution, with which the wall clock of a daemon is set. Does nothing when it is there.
set -eu

for library in /usr/lib/*/faketime/libfaketimeMT.so.1; do
    if [ -e "$library" ]; then exit 0; fi
done
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "libfaketime is missing; install it (Debian: apt-get install libfaketime)" >&2
    exit 1
fi
echo "Installing libfaketime"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libfaketime >/dev/null
