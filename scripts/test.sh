#!/usr/bin/env bash
# All tests, in several processes: much of their time they wait. Called by `make test`.
#
# What fails there is run once more, by itself, and named: with several brokers, Spark sessions and a browser on two
# cores, a test can fail for want of time. A fault of the program fails twice. The second run is for a few tests only,
# and not at all if the first one did not get to its end or lost more than two of its processes. A test that hangs says
# where after ten minutes.
set -uo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
processes=${TEST_PROCESSES:-3}
most_again=${TEST_MOST_AGAIN:-8}
failed_in() { "$python" -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$1" 2>/dev/null; }

export SEAMARK_WAIT_FACTOR=${SEAMARK_WAIT_FACTOR:-3}
rm -f .pytest_cache/v/cache/lastfailed
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$python" -m pytest -n "$processes" --dist loadscope --no-loadscope-reorder --max-worker-restart=2 -o timeout=900 \
    -o faulthandler_timeout=600 --ignore=tests/streaming "$@" 2>&1 | tee "$log"
code=${PIPESTATUS[0]}
if [ "$code" = 1 ] && ! grep -q "maximum crashed workers reached" "$log"; then
    failed=$(failed_in .pytest_cache/v/cache/lastfailed)
    count=$(printf '%s\n' "$failed" | grep -c .)
    if [ "$count" -gt 0 ] && [ "$count" -le "$most_again" ]; then
        printf '==> these failed beside others, and are run once more by themselves:\n%s\n' "$failed"
        "$python" -m pytest --last-failed --last-failed-no-failures none -o timeout=900 --ignore=tests/streaming "$@"
        code=$?
        [ "$code" = 0 ] && printf '==> passed by themselves only:\n%s\n' "$failed"
    fi
fi
# Queries of Spark's own call back into the driver's Python; they get a Spark that nothing else has used.
[ "$code" = 0 ] && [ "$#" = 0 ] && { "$python" -m pytest -o timeout=900 tests/streaming; code=$?; }
exit "$code"
