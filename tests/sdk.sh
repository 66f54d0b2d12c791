#!/usr/bin/env bash
# Runs the published REST client of the contract, unmodified, against Posthorn: every method it has, its retries, pages and errors.
set -euo pipefail

. "$(dirname "$0")/node22.sh"

here=$posthorn_root/tests/sdk
export SDK_INSTALL=$posthorn_root/build/sdk
npm_tree "$here" "$SDK_INSTALL"
"$NODE" --test "$here/sdk.test.mjs"
