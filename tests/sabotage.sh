#!/bin/sh
# Shows that the judge would notice: builds the daemon with its proof of Off switched off, lets it
# meet the hosts that lie, and succeeds only if the judge finds workloads released too early.
# It is built with an example, so that what it depends on has the features that it has for tests, and is not built anew.
# `build` and `story` do one half each: nobody may start the daemon during the first.
set -u

# In the cluster where the Machines are, and in a workload cluster.
TESTS='ground_truth::invariant_1_no_release_unless_off_is_proven
cluster_api::invariant_1_nothing_is_released_in_a_workload_cluster_unless_off_is_proven'
VERDICT='workloads were released while their host was not off'

cd "$(dirname "$0")/.." || exit 1
mkdir -p "${CARGO_TARGET_DIR:-target}"
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd) || exit 1
log=$target/sabotage.log
without_proof=$target/sabotage/baremetal-remediator

build() {
    # No daemon without its proof may be left where one with it is expected. Cargo keeps its own copies
    # of both and puts the right one there at the next build.
    trap 'rm -f "$target/debug/baremetal-remediator" "$target/debug/baremetal-remediator.d"' EXIT
    trap 'exit 130' INT TERM
    echo "sabotage: building the daemon without its proof of Off"
    # Nothing is explored with it, so its core is not optimized.
    if ! cargo build --quiet --config 'profile.dev.package.remediator-core.opt-level=0' \
        --features sabotage-off-proof --bin baremetal-remediator --example power_off >"$log" 2>&1; then
        cat "$log" >&2
        echo "sabotage: it does not build" >&2
        exit 1
    fi
    mkdir -p "${without_proof%/*}"
    mv "$target/debug/baremetal-remediator" "$without_proof"
    cargo build --quiet --bins --examples || exit 1
    trap - EXIT
}

story() {
    for test in $TESTS; do
        echo "sabotage: running $test against it"
        if REMEDIATOR_UNDER_TEST=$without_proof cargo test --test stories -- --exact "$test" >"$log" 2>&1; then
            echo "sabotage: NOT NOTICED. $test passed without the proof of Off; see $log" >&2
            exit 1
        fi
        if ! grep -q "$VERDICT" "$log"; then
            tail -n 40 "$log" >&2
            echo "sabotage: $test failed, but not because the judge found a breach; see $log" >&2
            exit 1
        fi
        echo "sabotage: noticed, as it must be: $VERDICT"
    done
}

case ${1-} in
build) build ;;
story) story ;;
*) build && story ;;
esac
