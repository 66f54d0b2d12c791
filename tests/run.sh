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

# The tests make hundreds of database clusters in /tmp, and creating and deleting their files takes a fifth of the processor time when
# /tmp is on a disk. With enough memory, this run gets a /tmp in memory, which nothing else sees and which ends with it. It would hide
# a checkout or a home folder in /tmp.
MEMORY_KIB=$((8 * 1024 * 1024))
available=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
in_memory=(unshare --mount sh -c 'mount -t tmpfs -o mode=1777,size=50% tmpfs /tmp && exec "$@"' sh)
if [[ $(pwd -P)/ == /tmp/* || ${HOME:-}/ == /tmp/* ]] || ((available < MEMORY_KIB)) || ! "${in_memory[@]}" true 2>/dev/null; then
    in_memory=()
fi
exec "${in_memory[@]}" "$NODE" tests/runner/main.mjs "$@"
