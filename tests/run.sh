#!/usr/bin/env bash
# The test suite on a fresh Debian 12: installs what it needs, builds, tests. tests/README.md describes it.
#
#   tests/run.sh                 everything
#   tests/run.sh quick           what daily work needs, in about 3 minutes
#   tests/run.sh STEP …          these steps alone, such as: cases includes
#   tests/run.sh case ID …       cases whose file name contains ID, such as contacts.save/consent
#   tests/run.sh unit MODULE …   the unit tests of a module
#
# The last line is 'N passed, M failed'; the log of each step is in build/test-logs.
set -euo pipefail
cd "$(dirname "$0")/.."

bash tests/setup.sh
. tests/node22.sh
exec "$NODE" tests/runner/main.mjs "$@"
