/*
 * The figures of one brand that the detectors compare, loaded once for a run
 * (load.h), and the findings that they make. All memory belongs to the arena of
 * the run. Nothing here reads the database or the clock.
 */
#pragma once

#include "base/arena.h"
#include "catalogue/insights.h"
#include "engine/insights/statistics.h"

#include <stdint.h>

enum {
    INSIGHT_SENDS_MAX = 1000, /* the latest ones of INSIGHT_DAYS */
    INSIGHT_DOMAINS_MAX = 20, /* receiving domains with most mail; the others count as one without a name */
    INSIGHT_SOURCES_MAX = 50, /* sources of contacts with most mail */
    INSIGHT_DAYS = 112,       /* 16 weeks */
    INSIGHT_PAST_DAYS = 90,   /* what spikes are compared with */
    INSIGHT_HOURS_OF_WEEK = 168,
    INSIGHT_FINDINGS_MAX = 384,   /* tests of one run */
    INSIGHT_EVIDENCE_MAX = 20,    /* sends that a finding names */
    INSIGHT_AUTOMATIONS_MAX = 20, /* published ones with most runs */
    INSIGHT_STEPS_MAX = 100,      /* steps that lost runs, those that lost most in the last week */
    INSIGHT_SPLITS_MAX = 10,      /* the youngest ones */
    INSIGHT_TRIGGERS_MAX = 20,    /* those that had an event last */
    INSIGHT_LOOKS = 4,            /* sizes at which the ways of a split are compared: 500, 1,000, 2,000, 4,000 */
};

struct insight_send {
    int64_t id;
    int64_t started_us;
    size_t slot; /* hour of the week in the brand's time zone, Monday 0 h is 0 */
    double sent, delivered, opened, clicked, bounced, complained, unsubscribed;
};

/* The mail of one send to one receiving domain. */
struct insight_cell {
    size_t send;   /* index of the send */
    size_t domain; /* index of the domain */
    double sent, delivered, opened, blocked, delayed;
    double week_delivered, week_complained; /* of the last 7 days, by the day of the event */
};

struct insight_source {
    const char *name;
    double sent, bounced;
};

/* Contacts by their mails a week, and sums over them: m mails and c clicks of a contact. */
struct insight_frequency {
    double contacts, mails, clicks;
    double mails_squared, clicks_squared, clicks_by_mails;
};

struct insight_domain {
    int64_t id;
    const char *name;
    bool is_lost; /* it is not verified any more */
};

/* The mail of the organization in this month. */
struct insight_allowance {
    double limit; /* 0: none */
    double used;
    double days_left;    /* until the period ends */
    const double *day;   /* days with mail counted, ascending */
    const double *total; /* messages until the end of the day */
    size_t day_count;
};

/* An automation that is published. */
struct insight_automation {
    int64_t id;
    const char *name;
    int64_t changed_us;
    bool listens;                    /* an event starts it, and it is not paused */
    double begun[INSIGHT_PAST_DAYS]; /* runs by the days (UTC) before today; 0 is today */
};

/* A step of a published automation, by periods of 24 hours before now: runs that failed or were skipped of those that left it. */
struct insight_step {
    const struct insight_automation *automation;
    const char *node_id;
    const char *reason; /* of most of those that were lost in the last week; NULL: none */
    struct share days[INSIGHT_PAST_DAYS];
};

/* A split by share, in the published version of an automation. */
struct insight_split {
    const struct insight_automation *automation;
    const char *node_id;
    const char *labels[2];               /* left, right */
    struct share ways[2][INSIGHT_LOOKS]; /* contacts that clicked within 7 days: the first 500 of a way, the next 500, and so on */
};

/* A trigger, by periods of 24 hours before now: events that were rejected or did not fit the contract. */
struct insight_trigger {
    int64_t id;
    const char *title;
    struct share days[INSIGHT_PAST_DAYS];
};

struct insight_data {
    int64_t now_us;
    struct insight_send *sends; /* by time, the oldest first */
    size_t send_count;
    const char **domains; /* "": all others */
    size_t domain_count;
    struct insight_cell *cells;
    size_t cell_count;
    const struct insight_source *sources;
    size_t source_count;
    struct insight_frequency frequency[3];        /* up to 1, up to 2, more mails a week */
    double contacts, dormant;                     /* 0 contacts when no opens are known */
    const struct insight_domain *sending_domains; /* that have sent mail */
    size_t sending_domain_count;
    struct insight_allowance allowance;
    struct insight_automation *automations;
    size_t automation_count;
    struct insight_step *steps;
    size_t step_count;
    struct insight_split *splits;
    size_t split_count;
    struct insight_trigger *triggers;
    size_t trigger_count;
};

/* The result of one test. */
struct insight_finding {
    enum insight_detector_index detector;
    const char *subject_kind; /* brand, receivingDomain, source, hour, domain, automation, step, trigger */
    const char *subject;      /* what it is about, for people; "" for the brand */
    const char *key;          /* tells subjects of the same name apart; NULL: the subject does */
    int64_t subject_id;       /* of a domain, an automation or a trigger, and of the automation of a step; else 0 */
    const char *node_id;      /* of a step; else NULL */
    const char *reason;       /* for the text {reason}; NULL: none */
    double value, baseline;
    struct interval interval; /* of the difference value - baseline; of the value where the baseline is a constant */
    double sample, baseline_sample;
    double dispersion;
    double p; /* 0: a fact */
    double q;
    bool is_fact;  /* not a test, so that it takes no part in the correction */
    bool is_worth; /* the difference has the direction that matters, and the sample its least size */
    bool is_held;  /* set by insights_judge */
    bool is_critical;
    int64_t sends[INSIGHT_EVIDENCE_MAX];
    size_t send_count;
};

struct insight_findings {
    struct insight_finding items[INSIGHT_FINDINGS_MAX];
    size_t count;
};
