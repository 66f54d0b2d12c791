/*
 * Advisory locks: the numbers of all locks of this program in a database. Each
 * use has a class of its own, the first key of pg_advisory_xact_lock(class, key),
 * so that locks of two uses never meet. The second key is the object, or a hash
 * of it: two objects of the same hash wait for each other, which is harmless.
 */
#pragma once

enum advisory_lock {
    ADVISORY_LOCK_MIGRATION = 730579261,
    ADVISORY_LOCK_DEFAULTS = 730579262,     /* the first organization and its brand are made */
    ADVISORY_LOCK_ALLOWANCE = 730579263,    /* key: organization; the allowance is compared with a send */
    ADVISORY_LOCK_PARTITIONS = 730579264,   /* make_months, drain_month and drop_months, functions of the database */
    ADVISORY_LOCK_DOMAIN_NAME = 730579265,  /* key: name; a sending domain is verified */
    ADVISORY_LOCK_RUN_EVENTS = 730579266,   /* key: brand and address; a run begins to wait for an event, or the event comes */
    ADVISORY_LOCK_RUN_MESSAGES = 730579267, /* key: message of a run; a run begins to wait for it, or its recipient acts */
    ADVISORY_LOCK_LAUNCH = 730579268, /* key: launch; it begins, is resumed or is canceled; a part of its failed runs is taken up */
    ADVISORY_LOCK_HITS = 730579269,   /* key: brand; shared: its hits are stored; alone: the job that judges them ends */
    ADVISORY_LOCK_LISTENERS = 730579270,    /* key: trigger; an automation that starts with it is published */
    ADVISORY_LOCK_FIELDS = 730579275,       /* key: brand; new custom fields are counted (define_contact_fields) */
    ADVISORY_LOCK_FIELD_VALUES = 730579276, /* key: brand; shared: values of custom fields are written; alone: a deletion begins */
};
