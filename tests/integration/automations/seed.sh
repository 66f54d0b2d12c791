#!/usr/bin/env bash
# The random automations of one seed: seed.sh SEED. Its last line says how many graphs were equal. NODE is a Node 22.
set -uo pipefail
cd "$(dirname "$0")/../../.."

log=build/test-logs/graphs-$1.log
mkdir -p build/test-logs
AUTOMATION_SEED=$1 AUTOMATION_GRAPHS=${AUTOMATION_GRAPHS:-25} "${NODE:-build/node/node_modules/.bin/node}" --test tests/integration/automations/live_runs.test.mjs >"$log" 2>&1
status=$?
[ "$status" -eq 0 ] || cat "$log"
echo "seed $1: $(grep -o '[0-9]* graphs with [0-9]* runs were equal' "$log" || echo 'no result')"
exit "$status"
