/*
 * Vips: runs a program of libvips (vips, vipsthumbnail; Debian package
 * libvips-tools) on the bytes of one image. Bytes go in and come out through
 * pipes, so the program reads and writes no file. It runs as a child
 * (render/child.h) with bounds of memory, processor time and output, and without
 * the loaders that libvips marks as untrusted (VIPS_BLOCK_UNTRUSTED).
 *
 * The caller has checked the bytes (render/image.h), because only the checker
 * bounds the pixels. Any thread may call; the program ends with the call.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/values.h"

enum {
    VIPS_MAX_ARGUMENTS = 12,
    VIPS_DEADLINE_MS = 30 * 1000, /* of one run */
};

struct vips_run {
    const char *arguments[VIPS_MAX_ARGUMENTS + 1]; /* the program first, NULL-terminated; the image is named stdin */
    struct bytes input;
    bool is_own_input; /* raw pixels of this process, in the form of a PPM file; its loader is one of the blocked ones */
};

/* Whether both programs are in PATH. */
bool vips_is_installed(void);

/* Runs the program and appends its standard output to `output`, whose maximum bounds it. Errors: SERVICE_UNAVAILABLE (no program;
 * it was killed or took too long), INVALID_REQUEST (it cannot read the image, or its output is too large), without a param. */
MUST_CHECK bool vips_run(const struct vips_run *run, struct buf *output, struct error *err) NONNULL(1, 2, 3);
