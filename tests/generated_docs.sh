#!/usr/bin/env bash
# Compares the reference pages in docs with those that the build has generated.
set -euo pipefail
cd "$(dirname "$0")/.."

count=0
failed=0
for file in build/debug/generated/docs/*.md; do
    count=$((count + 1))
    diff -u "docs/$(basename "$file")" "$file" || failed=$((failed + 1))
done
echo "$((count - failed)) passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$count" -gt 0 ]
