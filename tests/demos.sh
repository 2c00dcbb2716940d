#!/bin/sh
# Runs every story of the demo, several at once; each has to end as it says.
set -u

cd "$(dirname "$0")/.." || exit 1
target=${CARGO_TARGET_DIR:-target}

if [ "${1-}" = one ]; then
    scenario=${2#main-job}
    log=$target/demo-$2.log
    if SCENARIO=$scenario "$target/debug/examples/demo" >"$log" 2>&1; then
        echo "demo $2: as it has to be"
        exit 0
    fi
    echo "demo $2: FAILED; see $log:
$(tail -n 60 "$log")"
    exit 1
fi

cargo build --quiet --bin baremetal-remediator --example demo || exit 1
printf '%s\n' main-job lying-bmc wrong-host wrong-password recovers metal3 | xargs -P 3 -I '{}' "$0" one '{}'
