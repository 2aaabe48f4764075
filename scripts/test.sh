#!/usr/bin/env bash
# All tests, in three parts. Called by `make test`; with arguments (for pytest) only the first part.
#
#   beside each other   in several processes: much of their time they wait
#   alone               those that say how soon something is done, one after the other
#   streaming           queries of Spark's own call back into the driver's Python: they get a Spark nothing else has used
#
# What fails is run once more, by itself, and named: with several brokers, Spark sessions and a browser on two cores, a
# test can fail for want of time. A fault of the program fails twice. The second run is for a few tests only, and not at
# all if the first one did not get to its end or lost more than two of its processes. A test that hangs says where after
# ten minutes.
set -uo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
processes=${TEST_PROCESSES:-3}
most_again=${TEST_MOST_AGAIN:-8}
export SEAMARK_WAIT_FACTOR=${SEAMARK_WAIT_FACTOR:-3}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

failed() {
    "$python" -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' .pytest_cache/v/cache/lastfailed 2> /dev/null
}

# part TITLE ARGUMENT...: those tests, and what failed of them once more. The status is pytest's.
part() {
    local title=$1 code names count
    shift
    echo "==> tests: $title"
    rm -f .pytest_cache/v/cache/lastfailed
    "$python" -m pytest -o timeout=900 -o faulthandler_timeout=600 "$@" 2>&1 | tee "$log"
    code=${PIPESTATUS[0]}
    if [ "$code" = 1 ] && ! grep -q "maximum crashed workers reached" "$log"; then
        names=$(failed)
        count=$(printf '%s\n' "$names" | grep -c .)
        if [ "$count" -gt 0 ] && [ "$count" -le "$most_again" ]; then
            printf '==> these failed, and are run once more by themselves:\n%s\n' "$names"
            "$python" -m pytest --last-failed --last-failed-no-failures none -o timeout=900 --ignore=tests/streaming
            code=$?
            [ "$code" = 0 ] && printf '==> passed the second time only:\n%s\n' "$names"
        fi
    fi
    return "$code"
}

together=(-n "$processes" --dist loadscope --no-loadscope-reorder --max-worker-restart=2 --ignore=tests/streaming)
if [ "$#" -gt 0 ]; then
    part "$*" "${together[@]}" "$@"
    exit
fi
status=0
part "beside each other" "${together[@]}" -m "not alone" || status=$?
part "alone" -m alone --ignore=tests/streaming || status=$?
"$python" -m pytest -o timeout=900 tests/streaming || status=$?
exit "$status"
