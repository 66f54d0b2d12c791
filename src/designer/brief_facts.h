/*
 * The reader of a brief while it works. Private to src/designer.
 */
#pragma once

#include "designer/brief.h"
#include "designer/brief_dates.h"

enum { BRIEF_WARNINGS_MAX = 30 };

struct brief_reader {
    struct arena *arena;
    const struct brief *brief;
    struct brief_facts *facts;
    const char *prompt;   /* without the Markdown that is taken word for word */
    const char *lower;    /* the prompt with its ASCII letters in lower case */
    const char *markdown; /* NULL: none */
    bool is_first;        /* no sentence has been read */
    const char *code;
    const char *value; /* of the offer */
    const char *terms;
    const char *place;
    const char *address;
    json_t *points; /* what an instruction wants mentioned */
    int time;       /* minute of the day of a line "Time:"; -1: none */
    struct found_date dates[BRIEF_DATES_MAX];
    size_t date_count;
    const char **warnings;
    bool has_mistake; /* a merge tag was left out */
};

void brief_warn(struct brief_reader *reader, const char *warning) NONNULL(1, 2);

/* A line of a label: "Code: SPRING20". False: the label is not known. */
bool brief_read_label(struct brief_reader *reader, const char *name, const char *value) NONNULL(1, 2, 3);

/* Quoted words, codes, percents and links of the whole prompt. */
void brief_read_words(struct brief_reader *reader) NONNULL(1);

/* The offer and the event, from what the other functions have found. */
void brief_settle(struct brief_reader *reader) NONNULL(1);
