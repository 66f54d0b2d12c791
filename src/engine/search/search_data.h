/*
 * The data of the searches, generated from schemas/search.json: stop words,
 * weights, names of colours, and concepts (terms for one thing). Words keep the
 * form in which people write them. Constant; any thread.
 */
#pragma once

#include "engine/search/bm25f.h"

/* Lists of texts end with NULL. */
extern const char *const search_stop_words[];
extern const char *const picture_stop_words[];

/* The fields of a template. CONCEPT has the concepts of its category, MENTIONED those that its words name. */
enum template_field {
    TEMPLATE_FIELD_TITLE,
    TEMPLATE_FIELD_CATEGORY,
    TEMPLATE_FIELD_BRAND,
    TEMPLATE_FIELD_SUBJECT,
    TEMPLATE_FIELD_PREVIEW,
    TEMPLATE_FIELD_TEXT,
    TEMPLATE_FIELD_CONCEPT,
    TEMPLATE_FIELD_MENTIONED,
    TEMPLATE_FIELDS,
};

struct template_weights {
    double k1;
    double concept;   /* of a concept in a query; a word has 1 */
    double corrected; /* of a word in place of one that no template has */
    struct bm25f_field fields[TEMPLATE_FIELDS];
};
extern const struct template_weights template_weights;

struct colour_words {
    const char *name; /* NULL ends the table */
    const char *const *words;
};
extern const struct colour_words search_colours[];

struct concept {
    const char *name;              /* begins with @, which no word has; NULL ends the table */
    const char *const *categories; /* of designs */
    const char *const *phrases;
};
extern const struct concept search_concepts[];
