#!/usr/bin/env bash
# The faults of a sender as figures: campaigns that are killed, and whose relay, disk or clock misbehaves, verified by a recorder
# that writes before it replies. Prints one table and ends with 'N passed, M failed'.
#
#   tests/faults.sh              all of it: 100 kills of campaigns to 20,000 recipients, 100 rounds that kill runner, serve, PostgreSQL
#                                or relay during a campaign to 100,000, and the rest
#   tests/faults.sh short        five kills of 4,000, three rounds, and the quick rows, as tests/run.sh does
#   tests/faults.sh killed …     the named rows
#
# POSTHORN_BIN         the binary (build/release/posthorn); posthorn-sink stands beside it
# POSTHORN_FAULT_SEED  repeats a run
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=node22.sh
source "$here/node22.sh"
"$NODE" --test --test-reporter=dot "$here/faults/*.test.mjs"
exec "$NODE" "$here/faults/main.mjs" "$@"
