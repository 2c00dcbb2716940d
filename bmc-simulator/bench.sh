#!/bin/bash
# Measures how long fleets of idle BMCs take to start, and how much memory each takes: resident memory beyond
# that of a fleet of one. Needs Linux (/proc). Arguments: sizes of the fleets; 1000 and 5000 when there are none.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
program=${CARGO_TARGET_DIR:-$here/../target}/release/bmc-simulator
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# Two files for each BMC with IPMI, and a few more.
[ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -ge 11000 ] || ulimit -n "$(ulimit -Hn)"

# Starts a fleet and waits until all of it is announced: milliseconds and KiB of resident memory.
measure() {
    local hosts=$1 begin end running
    shift
    begin=$(date +%s%N)
    "$program" --hosts "$hosts" "$@" >"$output" &
    running=$!
    while [ "$(wc -l <"$output")" -lt "$hosts" ]; do
        kill -0 "$running" 2>/dev/null || { echo "the simulator ended: see above" >&2; exit 1; }
        sleep 0.01
    done
    end=$(date +%s%N)
    echo $(((end - begin) / 1000000)) "$(awk '/^VmRSS/ {print $2}' "/proc/$running/status")"
    kill "$running"
    wait "$running" || true
}

printf '%8s %6s %12s %14s %14s\n' HOSTS IPMI 'START, MS' 'MEMORY, MIB' 'KIB PER BMC'
for hosts in "${@:-1000 5000}"; do
    for size in $hosts; do
        for ipmi in no yes; do
            options=()
            [ "$ipmi" = no ] || options=(--first-ipmi-port 0)
            read -r _ least < <(measure 1 "${options[@]}")
            read -r took memory < <(measure "$size" "${options[@]}")
            awk -v hosts="$size" -v ipmi="$ipmi" -v took="$took" -v memory="$memory" -v least="$least" 'BEGIN {
                printf "%8d %6s %12d %14.1f %14.1f\n", hosts, ipmi, took, memory / 1024, (memory - least) / (hosts - 1)
            }'
        done
    done
done
