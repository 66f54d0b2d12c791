/*
 * Brands: every send, contact and design belongs to one. A brand created from
 * given fields is ready at once; one with the address of a website when a job
 * has read it (extraction.h).
 */
#pragma once

#include "engine/core/work.h"
#include "sql/brands.h"

struct brand_fields {
    const char *name;   /* NULL: the domain */
    const char *domain; /* domain of its website; NULL: the host of `url` */
    const char *url;    /* of the website that is read, from extraction_read_url; NULL: the brand is ready at once */
    const char *description;
    const char *tagline;
    const char *contact_email;
    const char *contact_phone;
    const char *address;
    const char *time_zone; /* IANA name; NULL: UTC */
    const char *locale;    /* BCP 47 tag; NULL: en */
};

/* The members to change. A text that is set but NULL or empty is removed. */
struct brand_change {
    const char *name; /* NULL: unchanged */
    struct opt_text description;
    struct opt_text tagline;
    struct opt_text contact_email;
    struct opt_text contact_phone;
    struct opt_text address; /* postal address in the footer of marketing mail; used from the next message on */
    struct opt_text email_design;
    struct opt_text image_style;
};

/* Trims and checks the name of a brand. It is the default sender name of its domains.
 * Errors: INVALID_REQUEST with `param` (blank, control characters). */
MUST_CHECK bool brand_check_name(const struct work *work, const char **name, const char *param, struct error *err)
    NONNULL(1, 2, 3, 4);

/* True for a text in the form of a BCP 47 language tag: en, fr-CA, zh-Hans-CN. */
bool brand_locale_is_tag(const char *locale) NONNULL(1) PURE;

/* Creates a brand. Errors: INVALID_REQUEST. */
MUST_CHECK bool brand_create(const struct work *work, const struct brand_fields *fields, struct brand_row **ret_brand,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* A brand of the organization. Errors: BRAND_NOT_FOUND. */
MUST_CHECK bool brand_get(const struct work *work, int64_t brand_id, struct brand_row **ret_brand, struct error *err)
    NONNULL(1, 3, 4);

/* Refuses work that needs the brand of the work before its website is read. Errors: BRAND_NOT_READY, BRAND_NOT_FOUND. */
MUST_CHECK bool brand_require_ready(const struct work *work, struct error *err) NONNULL(1, 2);

/* Changes the brand of the work. Errors: INVALID_REQUEST (with the params of PATCH /v1/brand), BRAND_NOT_FOUND. */
MUST_CHECK bool brand_update(const struct work *work, const struct brand_change *change, struct brand_row **ret_brand,
                             struct error *err) NONNULL(1, 2, 3, 4);

/* The resource "brand". */
bool brand_write(const struct work *work, const struct brand_row *brand, struct json_writer *json, struct error *err)
    NONNULL(1, 2, 3, 4);

/* The same with a sentence that tells how to work in a new brand; `enter` NULL: without it. */
bool brand_write_created(const struct work *work, const struct brand_row *brand, const char *enter, struct json_writer *json,
                         struct error *err) NONNULL(1, 2, 4, 5);
