#!/usr/bin/env bash
# Every test but those on a control plane: units, documentation, the simulator, power control, what is static.
# `core` runs the explorations of the protocol, which only compute; `rest` runs all others, which also wait; `harness`
# runs the harness's own, on control planes.
set -uo pipefail
cd "$(dirname "$0")/.."
half=${1:?core, rest or harness}
# All are built as the whole workspace is: with a package alone, Cargo would choose other features and build it anew.
built=$(cargo test --no-run --message-format json-render-diagnostics) || exit 1
tests=$(half=$half python3 -c "
import json, os, pathlib, sys
for line in sys.stdin:
    built = json.loads(line)
    if built.get('profile', {}).get('test') and built.get('executable'):
        root, name = pathlib.Path(built['manifest_path']).parent, built['target']['name']
        of = 'harness' if root.name == 'harness' else 'core' if name == 'remediator_core' else 'rest'
        if name not in ('stories', 'counting') and of == os.environ['half']:
            print(root, built['executable'])
" <<<"$built")
# Explorations compute all the time, and whatever runs beside them has deadlines: they take what the others leave. Cargo
# does not, for others wait for its lock.
priority=()
[ "$half" = core ] && priority=(chrt --idle 0)
# They make and drop many small things, of which glibc keeps seven of a size at hand: more save a third of the time.
[ "$half" = core ] && export GLIBC_TUNABLES=glibc.malloc.tcache_count=2000
# They tell how many states they went through, what came of the runs, and, last, how many states all of them were.
output=()
[ "$half" = core ] && output=(--show-output)
sum_up() {
    awk -v half="$half" '
        { print; fflush() }
        match($0, /: [0-9]+ states, /) { split(substr($0, RSTART + 2), number, " "); states += number[1]; explored++ }
        END { if (half == "core") print "explored: " states " states in " explored " explorations" }'
}
run() { # folder executable
    echo "     Running ${2##*/}"
    # Only so does a stable libtest tell how long each test takes.
    (cd "$1" && RUSTC_BOOTSTRAP=1 RUST_TEST_THREADS=${RUST_TEST_THREADS:-8} \
        "${priority[@]}" "$2" -Z unstable-options --report-time "${output[@]}") </dev/null 2>&1 | sum_up
}
# What one says in the end is said in one piece, for others run beside it.
run_aside() { # folder executable
    local said status=0
    said=$(run "$@") || status=1
    printf '%s\n' "$said"
    return $status
}
# Of the rest, most wait most of the time.
how=run at_once=1
[ "$half" = rest ] && how=run_aside at_once=3
status=0 running=0
while read -r root executable; do
    if ((running == at_once)); then
        wait -n || status=1
        running=$((running - 1))
    fi
    "$how" "$root" "$executable" &
    running=$((running + 1))
done <<<"$tests"
while ((running > 0)); do
    wait -n || status=1
    running=$((running - 1))
done
if [ "$half" = rest ]; then
    cargo test --no-fail-fast --doc || status=1
fi
exit $status
