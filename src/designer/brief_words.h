/*
 * Words of briefs: what tells the language, the category, a label and an
 * instruction, in English, German, French and Spanish. Private to src/designer.
 */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

/* The language of a text by its script or its frequent words; otherwise `otherwise`, or "en". */
const char *words_language(struct arena *arena, const char *text, const char *otherwise) NONNULL(1, 2) RETURNS_NONNULL;

/* The category of a text in lower case; "general" when no word tells it. */
const char *words_category(const char *text) NONNULL(1) RETURNS_NONNULL;

enum label {
    LABEL_NONE,
    LABEL_SUBJECT,
    LABEL_PREVIEW,
    LABEL_HEADING,
    LABEL_ACTION,
    LABEL_LINK,
    LABEL_WHEN,
    LABEL_TIME,
    LABEL_PLACE,
    LABEL_ADDRESS,
    LABEL_CODE,
    LABEL_OFFER,
    LABEL_TERMS,
    LABEL_SIGNER,
    LABEL_ABOUT,       /* an instruction: "Tone: friendly" */
    LABEL_INSTRUCTION, /* the value is an instruction itself: "Brief: …" */
};

/* The label with this name in lower case. */
enum label words_label(const char *name) NONNULL(1) PURE;

/* The bytes of an instruction at the start of a sentence in lower case, whose rest is for readers ("mention that"); 0: none. */
size_t words_mention(const char *sentence) NONNULL(1);

/* Whether a sentence in lower case tells how to write the email. */
bool words_instruct(const char *sentence) NONNULL(1);

/* The place of the topic in an instruction in lower case ("… about our spring sale"); 0: it names none. */
size_t words_topic(const char *sentence) NONNULL(1);

/* Whether a text in lower case names an email ("Newsletter: …"). */
bool words_name_email(const char *text) NONNULL(1);

/* The bytes of the topic at `text` in lower case: up to a mark or a word that begins a detail. */
size_t words_topic_size(const char *text) NONNULL(1) PURE;

/* Whether the first `size` bytes have a word that joins topics: "tea, cake and music". */
bool words_join_topics(const char *text, size_t size) NONNULL(1);

/* The bytes of determiners at the start of a topic, which a heading does not need. */
size_t words_determiner(const char *topic, const char *language) NONNULL(1, 2) PURE;
