#!/bin/sh
# Shows that the judge would notice: builds the daemon with its proof of Off switched off, lets it
# meet the hosts that lie, and succeeds only if the judge finds workloads released too early.
set -u

TEST=invariant_1_no_release_unless_off_is_proven
VERDICT='workloads were released while their host was not off'

cd "$(dirname "$0")/.." || exit 1
target=${CARGO_TARGET_DIR:-target}
log=$target/sabotage.log
mkdir -p "$target"

# No daemon without its proof may be left where one with it is expected. Cargo keeps its own copies
# of both and puts the right one there at the next build.
clean_up() {
    rm -f "$target/debug/baremetal-remediator" "$target/debug/baremetal-remediator.d"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

echo "sabotage: building the daemon without its proof of Off"
if ! cargo test --quiet --features sabotage-off-proof --test ground_truth --no-run >"$log" 2>&1; then
    cat "$log" >&2
    echo "sabotage: it does not build" >&2
    exit 1
fi
echo "sabotage: running $TEST against it"
if cargo test --features sabotage-off-proof --test ground_truth -- --exact "$TEST" >"$log" 2>&1; then
    echo "sabotage: NOT NOTICED. The test passed without the proof of Off; see $log" >&2
    exit 1
fi
if ! grep -q "$VERDICT" "$log"; then
    tail -n 40 "$log" >&2
    echo "sabotage: the test failed, but not because the judge found a breach; see $log" >&2
    exit 1
fi
echo "sabotage: noticed, as it must be: $VERDICT"
