/*
 * Briefs: what a caller, the brand, fetched pages and a reference design say
 * about an email, and the facts that the composer takes from them.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

#include <jansson.h>

enum { BRIEF_PAGES_MAX = 8, BRIEF_FACTS_MAX = 200, BRIEF_PROMPT_MAX_CHARS = 20000 };

/* A page that a brief names, or why it could not be read. */
struct brief_page {
    const char *url;
    const char *problem; /* NULL: it was read; otherwise a sentence for the caller */
    const char *title;
    const char *description;
    const char *text;       /* the main text, paragraphs with empty lines between */
    const json_t *products; /* objects with name, text, price, image, href as the page declares them */
    const json_t *events;   /* objects with name, starts, ends, place, address, href */
    const json_t *pictures; /* objects with src and alt */
};

/* The brand as designs need it; NULL: the brand has not said it. */
struct brief_brand {
    const char *name;
    const char *tagline;
    const char *description;
    const char *address; /* the postal address */
    const char *website;
    const char *logo;         /* the address of its picture */
    const char *time_zone;    /* IANA */
    const char *locale;       /* BCP 47 */
    const char *email_design; /* Markdown with a line for each token (engine/brands) */
    const json_t *social;     /* objects with network and href */
};

struct brief {
    const char *prompt;
    const char *category;     /* NULL: not given */
    const char *subject_line; /* NULL: not given */
    struct brief_brand brand;
    const struct brief_page *pages;
    size_t page_count;
    const json_t *reference; /* the document of the reference design, or its outline; NULL: none */
    int64_t now_us;          /* relative dates ("next Friday") begin here */
};

enum fact_kind {
    FACT_HEADING,   /* a heading of the Markdown */
    FACT_PARAGRAPH, /* a paragraph that is to be taken word for word */
    FACT_POINT,     /* an entry of a list */
    FACT_QUOTED,    /* words in quotation marks */
    FACT_PRICE,
    FACT_PERCENT,
    FACT_CODE, /* of an offer */
    FACT_DATE, /* `moment` is set */
    FACT_LINK,
    FACT_ADDRESS, /* of an event */
    FACT_PRODUCT, /* `value` is set */
    FACT_ACTION,  /* the words of the call to action */
    FACT_PERSON,
};

struct fact {
    enum fact_kind kind;
    const char *text;   /* as it stands in its source */
    const char *moment; /* of a date: 2026-05-04 or 2026-05-04T18:30 */
    const char *href;   /* of a link or a call to action; NULL: none */
    const json_t *value;
    size_t section; /* the number of the heading above; 0: none */
};

struct brief_facts {
    const struct fact *items; /* in the order of the sources */
    size_t count;
    const char *category; /* given or inferred */
    const char *language; /* BCP 47: of the words of the brief; the brand's when they do not tell */
    bool is_verbatim;     /* the brief has Markdown that is taken word for word */
    struct text_list warnings;
};

/* Reads the facts of a brief. */
const struct brief_facts *brief_read(struct arena *arena, const struct brief *brief) NONNULL(1, 2) RETURNS_NONNULL;
