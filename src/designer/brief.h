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

struct template_zone;

enum { BRIEF_PAGES_MAX = 8, BRIEF_PROMPT_MAX_CHARS = 20000, BRIEF_SEED_BYTES = 32 };

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
    const char *logo;                 /* the address of its picture */
    const char *time_zone;            /* IANA */
    const struct template_zone *zone; /* the loaded time zone; NULL: UTC */
    const char *locale;               /* BCP 47 */
    const char *email_design;         /* Markdown with a line for each token (engine/brands) */
    const json_t *social;             /* objects with network and href */
};

struct brief {
    const char *prompt;
    const char *category;     /* NULL: not given */
    const char *subject_line; /* NULL: not given */
    struct brief_brand brand;
    const struct brief_page *pages;
    size_t page_count;
    const json_t *reference;              /* the document of the reference design, or its outline; NULL: none */
    int64_t now_us;                       /* relative dates ("next Friday") begin here */
    unsigned char seed[BRIEF_SEED_BYTES]; /* SHA-256 of brief and brand: chooses between layouts */
};

/* The facts of a brief. Texts are safe: each compiles as a template. NULL: the brief does not say it. */
struct brief_facts {
    const char *category; /* given or inferred */
    const char *language; /* BCP 47: of the words of the brief; the brand's when they do not tell */
    bool is_verbatim;     /* the brief has Markdown that is taken word for word */
    const char *subject;
    const char *preview;
    const char *heading; /* in the words of the brief: quoted, labelled or of the Markdown */
    const char *topic;   /* of an instruction: "Our spring sale" */
    const char *eyebrow;
    const char *lead;       /* the text below the heading */
    const json_t *body;     /* blocks in the order of the brief, without variants and tones */
    const json_t *products; /* items of a block "products" */
    const char *each;       /* the path of an array of the payload */
    const json_t *stories;  /* items of a block "columns": the pages */
    const json_t *picture;  /* of a page */
    const json_t *offer;    /* members of the blocks of these names */
    const json_t *event;
    const json_t *signature;
    const char *action_label;
    const char *action_href;
    struct text_list moments; /* all dates of the brief, as document_read takes them */
    struct text_list warnings;
};

/* Reads the facts of a brief. */
const struct brief_facts *brief_read(struct arena *arena, const struct brief *brief) NONNULL(1, 2) RETURNS_NONNULL;
