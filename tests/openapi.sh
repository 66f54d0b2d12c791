#!/usr/bin/env bash
# Checks the generated OpenAPI document with an official linter, and the check that validates replies against it.
set -euo pipefail

. "$(dirname "$0")/node22.sh"

here=$posthorn_root/tests/openapi
npm_tree "$here" "$here"
# The wrong replies of the judge's own test are no replies of the service.
env -u POSTHORN_REPLIES_LOG "$NODE" --test "$here/*.test.mjs"
"$NODE" "$here/lint.mjs" "$posthorn_root/build/debug/generated/catalogue/openapi.json"
