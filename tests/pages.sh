#!/usr/bin/env bash
# Follows docs/first-operation.md and docs/first-job.md in a copy of the tree.
set -euo pipefail

. "$(dirname "$0")/node22.sh"

npm_tree "$posthorn_root/tests/cases/runner" "$posthorn_root/tests/cases/runner"
"$NODE" "$posthorn_root/tests/pages.mjs"
