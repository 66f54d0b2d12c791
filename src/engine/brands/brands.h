/*
 * Brands: what every send, contact and design belongs to. A brand made from
 * given fields is ready at once; extracting one from a website is not built.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/brands.h"

struct brand_fields {
    const char *name;   /* NULL: the domain */
    const char *domain; /* of its website; NULL: the host of `url` */
    const char *url;
    const char *description;
    const char *tagline;
    const char *contact_email;
    const char *contact_phone;
    const char *address;
    const char *time_zone; /* IANA name; NULL: UTC */
    const char *locale;    /* BCP 47 tag; NULL: en */
};

/* What changes of a brand. A text that is set but NULL or empty is taken away. */
struct brand_change {
    const char *name; /* NULL: stays */
    struct opt_text description;
    struct opt_text tagline;
    struct opt_text contact_email;
    struct opt_text contact_phone;
    struct opt_text address; /* postal, the last lines of marketing mail from the next message on */
    struct opt_text email_design;
    struct opt_text image_style;
};

/* The name of a brand, trimmed: mail of a domain without a sender name of its own bears it.
 * Errors: INVALID_REQUEST with `param` (blank, control characters). */
MUST_CHECK bool brand_check_name(const struct work *work, const char **name, const char *param, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Creates a brand. Errors: INVALID_REQUEST. */
MUST_CHECK bool brand_create(const struct work *work, const struct brand_fields *fields, struct brand_row **ret_brand,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* A brand of the organization. Errors: BRAND_NOT_FOUND. */
MUST_CHECK bool brand_get(const struct work *work, int64_t brand_id, struct brand_row **ret_brand, struct error *err)
    NONNULL(1, 3, 4);

/* Changes the brand of the work. Errors: INVALID_REQUEST (params as PATCH /v1/brand names them), BRAND_NOT_FOUND. */
MUST_CHECK bool brand_update(const struct work *work, const struct brand_change *change, struct brand_row **ret_brand,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* The resource "brand". */
bool brand_write(const struct work *work, const struct brand_row *brand, struct json_writer *json, struct error *err)
    NONNULL(1, 2, 3, 4);
