/*
 * The relaxed canonical forms of DKIM (RFC 6376 §3.4.2 and §3.4.4): what
 * signers and verifiers hash instead of the bytes, so that blanks may change
 * on the way. Lines end with CRLF. No state; any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/values.h"

/* Appends a header field without CRLF at its end: name in lower case, unfolded, runs of blanks as one. `field` has its folds but
 * not its last CRLF; its name takes `name_size` bytes and is followed by a colon. */
void dkim_canonical_field(struct buf *out, struct bytes field, size_t name_size) NONNULL(1);

/* Appends a body: runs of blanks as one, none at line ends, no empty lines at the end. */
void dkim_canonical_body(struct buf *out, struct bytes body) NONNULL(1);
