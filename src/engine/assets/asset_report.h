/*
 * What became of the images of an imported document: the numbers of the wire's
 * assetReport. Each image (each address once) is counted once, so `discovered`
 * is the sum of the others.
 */
#pragma once

#include "base/values.h"

struct asset_report {
    int64_t discovered;
    int64_t rehosted; /* named by an address of this installation now */
    int64_t retained;        /* stays where it is */
    int64_t stripped;        /* taken out, unseen: its server is not on the public internet */
    int64_t dropped;         /* taken out: what it points to is no image, or one that would harm its viewers */
    struct text_list warnings;
};
