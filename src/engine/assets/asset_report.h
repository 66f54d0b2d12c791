/*
 * Asset report: the outcomes for the images of an imported document, as the
 * wire's assetReport. Each URL is counted once, so `discovered` is the sum of
 * the other numbers.
 */
#pragma once

#include "base/values.h"

struct asset_report {
    int64_t discovered;
    int64_t rehosted; /* hosted by this installation now */
    int64_t retained; /* keeps its original URL */
    int64_t stripped; /* removed without a request: its server is not on the public internet (SSRF) */
    int64_t dropped;  /* removed: not an image, or an unsafe one */
    struct text_list warnings;
};
