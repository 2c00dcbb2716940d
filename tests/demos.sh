#!/bin/sh
# Runs every story of the demo; each has to end as it says.
set -u

cd "$(dirname "$0")/.." || exit 1
cargo build --quiet --bin baremetal-remediator --example demo || exit 1
target=${CARGO_TARGET_DIR:-target}
failed=0
for scenario in "" lying-bmc wrong-host wrong-password recovers; do
    log=$target/demo-${scenario:-main-job}.log
    if SCENARIO=$scenario "$target/debug/examples/demo" >"$log" 2>&1; then
        echo "demo ${scenario:-main-job}: as it has to be"
    else
        tail -n 60 "$log"
        echo "demo ${scenario:-main-job}: FAILED; see $log"
        failed=1
    fi
done
exit $failed
