#!/usr/bin/env bash
# Every operation and job at its documented maxima: the memory and the processor time of `serve` and of the runner, and how they
# grow. Prints one table and ends with 'N passed, M failed'.
#
#   tests/sizes.sh               the long form: all dimensions, four sizes
#   tests/sizes.sh short         the shortened form, as tests/run.sh runs it
#   tests/sizes.sh long NAME …   operations and states whose names contain NAME; 'operations' and 'states' are all of them
#
# POSTHORN_BIN   the binary (build/release/posthorn); posthorn-sink and journal_driver stand beside it
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=node22.sh
source "$here/node22.sh"
"$NODE" --test --test-reporter=dot "$here/sizes/*.test.mjs"
exec "$NODE" "$here/sizes/main.mjs" "${@:-long}"
