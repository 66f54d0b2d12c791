/*
 * Personalized preview of a design with the values of one person: subject,
 * preview text, HTML and text as a send would compose them. Nothing is sent and
 * nothing is written; the unsubscribe link has no effect.
 */
#pragma once

#include "engine/core/work.h"

#include <jansson.h>

struct email_personalization {
    int64_t email_id;
    int64_t version_id;    /* 0: the latest */
    const char *contact;   /* the address of a contact of the brand; NULL: none */
    const json_t *sample;  /* values instead of a contact: email, firstName …, customFields; NULL: none */
    const json_t *payload; /* payload of an event; NULL: none */
    bool with_html;
};

/* The resource "personalizedEmail".
 * Errors: INVALID_REQUEST (contact, sample; a template that exceeds its limits), EMAIL_NOT_FOUND, EMAIL_VERSION_NOT_FOUND,
 * EMAIL_NOT_READY, CONTACT_NOT_FOUND. */
MUST_CHECK bool email_personalize(const struct work *work, const struct email_personalization *personalization,
                                  struct json_writer *json, struct error *err) NONNULL(1, 2, 3, 4);
