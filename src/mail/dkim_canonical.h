/*
 * DKIM canonicalisation: the relaxed forms of header fields and bodies
 * (RFC 6376 §3.4.2 and §3.4.4). Signers and verifiers hash these forms, so that
 * mail servers may change blanks. Lines end with CRLF. No state; any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/values.h"

/* Appends a header field without CRLF at its end: name in lower case, unfolded, each run of blanks as one space. `field` is still
 * folded and has no last CRLF; its name has `name_size` bytes and a colon behind it. */
void dkim_canonical_field(struct buf *out, struct bytes field, size_t name_size) NONNULL(1);

/* Appends a body: each run of blanks as one space, no blanks at line ends, no empty lines at the end. */
void dkim_canonical_body(struct buf *out, struct bytes body) NONNULL(1);
