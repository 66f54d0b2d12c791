#!/usr/bin/env bash
# Compares the pages in docs/reference with those that the build has generated.
set -euo pipefail
cd "$(dirname "$0")/.."

count=0
failed=0
for file in build/debug/generated/docs/reference/*.md; do
    count=$((count + 1))
    diff -u "docs/reference/$(basename "$file")" "$file" || failed=$((failed + 1))
done
echo "$((count - failed)) passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$count" -gt 0 ]
