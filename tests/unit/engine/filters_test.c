/*
 * Filters compared with a naive evaluator: random people, and random conditions of
 * every operator and type in random nested groups. PostgreSQL must find the same
 * people as the evaluator. POSTHORN_SEED repeats a run.
 */
#include "fixtures/contacts_brand.h"

#include "engine/contacts/search.h"

#include <stdlib.h>
#include <time.h>

static struct opt_int ignoring_case; /* of the last count */

enum { PEOPLE = 90, FILTERS = 500, DAY_S = 86400, EVENTS_MAX = 12 };

/* The brand lives five hours behind UTC, all year. */
static const int64_t zone_us = -5 * INT64_C(3600) * US_PER_S;
static const int64_t day_us = DAY_S * US_PER_S;

static unsigned seed;

static unsigned chance(unsigned count)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 16) % count;
}

/* ---- People ---- */

struct when {
    bool set;
    bool is_day; /* then midnight in UTC */
    int64_t us;
};

struct happening {
    const char *type;
    int64_t days_ago;
    int64_t count;
};

struct person {
    const char *email;
    const char *first_name; /* NULL: none, as the others */
    const char *source;
    bool subscribed;
    const char *plan;
    bool has_visits;
    double visits;
    struct when born;
    int vip;  /* -1 none, 0, 1 */
    int news; /* the same, of a subscription group */
    int64_t created_us;
    struct happening happenings[EVENTS_MAX];
    size_t happening_count;
};

static struct person people[PEOPLE];
static int64_t now_us;

static const char *const texts[] = { "",     "gold", "Gold",        "go%ld", "go_d", "\xc3\x89lan", "\xc3\xa9lan vital",
                                     "a\\b", "x",    "silver, gold" };
static const char *const needles[] = { "go", "GO", "ld", "%", "_", "\xc3\x89L", "\\", "x", "silver", "zz" };
static const double numbers[] = { -3, 0, 0.5, 1, 2, 10, 1e6 };
static const char *const event_names[] = { "opened", "clicked", "sent" };

static const char *any_text(unsigned from)
{
    return texts[from + chance(ARRAY_COUNT(texts) - from)];
}

static struct when any_time(void)
{
    bool is_day = chance(2) == 0;
    int64_t us = now_us - 6 * day_us + (int64_t)chance(12) * day_us;
    us -= us % day_us;
    if (!is_day)
        us += (int64_t)chance(24) * 3600 * US_PER_S + (chance(4) == 0 ? US_PER_MS : 0);
    return (struct when){ .set = true, .is_day = is_day, .us = us };
}

static const char *when_text(struct when when)
{
    char *text = clock_iso(arena, when.us);
    if (when.is_day)
        text[10] = '\0';
    return text;
}

static void add_custom(struct buf *json, const char *name, const char *value)
{
    buf_printf(json, "%s\"%s\":%s", json->size > 1 ? "," : "", name, value);
}

static const char *quoted(const char *text)
{
    struct buf *out = buf_in_arena(arena, 4096);
    json_quote(out, text, strlen(text));
    return buf_text(out);
}

static void save_person(const struct person *person)
{
    struct buf *custom = buf_in_arena(arena, 4096);
    buf_add_text(custom, "{");
    if (person->plan != NULL)
        add_custom(custom, "plan", quoted(person->plan));
    if (person->has_visits)
        add_custom(custom, "visits", arena_printf(arena, "%g", person->visits));
    if (person->born.set)
        add_custom(custom, "born", quoted(when_text(person->born)));
    if (person->vip >= 0)
        add_custom(custom, "vip", person->vip == 1 ? "true" : "false");
    buf_add_text(custom, "}");
    struct contact_change change = {
        .email = person->email,
        .first_name = { .set = person->first_name != NULL, .value = person->first_name },
        .source = person->source,
        .subscribed = is_bool(person->subscribed),
        .custom_fields = json_of(buf_text(custom)),
        .subscription_groups = person->news < 0 ? NULL : json_of(person->news == 1 ? "{\"news\":true}" : "{\"news\":false}"),
    };
    work.now_us = person->created_us;
    save(&change);
    for (size_t i = 0; i < person->happening_count; i++)
        run_sql(
            "insert into contact_activity values (%lld, '%s', '%s', (timestamptz 'epoch' + %lld * interval '1 microsecond' - %lld "
            "* interval '1 day')::date, %lld) on conflict (brand_id, event_type, email_key, day) do update set count = "
            "contact_activity.count + excluded.count",
            (long long)work.brand_id, person->happenings[i].type, person->email, (long long)now_us,
            (long long)person->happenings[i].days_ago, (long long)person->happenings[i].count);
}

static void make_person(struct person *person, int index)
{
    *person = (struct person){
        .email = arena_printf(arena, "p%02d.%s@example.com", index, chance(2) == 0 ? "gold" : "x"),
        .first_name = chance(3) == 0 ? NULL : any_text(1),
        .source = chance(2) == 0 ? "shop" : "Fair",
        .subscribed = chance(2) == 0,
        .plan = chance(4) == 0 ? NULL : any_text(0),
        .has_visits = chance(4) != 0,
        .visits = numbers[chance(ARRAY_COUNT(numbers))],
        .born = chance(4) == 0 ? (struct when){ .set = false } : any_time(),
        .vip = (int)chance(3) - 1,
        .news = (int)chance(3) - 1,
        .created_us = any_time().us,
        .happening_count = chance(2) == 0 ? 0 : chance(EVENTS_MAX),
    };
    for (size_t i = 0; i < person->happening_count; i++)
        person->happenings[i] =
            (struct happening){ event_names[chance(ARRAY_COUNT(event_names))], (int64_t)chance(20), 1 + (int64_t)chance(3) };
}

static void make_people(void)
{
    now_us = clock_now_us();
    now_us -= now_us % US_PER_MS;
    run_sql("update brands set time_zone = 'Etc/GMT+5' where id = %lld", (long long)work.brand_id);
    /* The types are given first, so that no value decides them. */
    save_fields("types@example.com", "{\"plan\":\"\",\"visits\":1,\"born\":\"2001-02-03\",\"vip\":true}");
    run_sql("delete from contacts where brand_id = %lld", (long long)work.brand_id);
    for (int i = 0; i < PEOPLE; i++) {
        make_person(&people[i], i);
        save_person(&people[i]);
    }
    work.now_us = now_us;
}

/* ---- Values as an evaluator sees them ---- */

enum kind { KIND_TEXT, KIND_ADDRESS, KIND_NUMBER, KIND_DATE, KIND_TRUTH, KIND_COUNT };

struct value {
    bool set;
    const char *text;
    double number;
    struct when when;
    bool truth;
};

struct subject {
    const char *name;
    enum kind kind;
};
static const struct subject subjects[] = {
    { "email", KIND_ADDRESS },
    { "firstName", KIND_TEXT },
    { "source", KIND_TEXT },
    { "subscribed", KIND_TRUTH },
    { "createdAt", KIND_DATE },
    { "plan", KIND_TEXT },
    { "customFields.visits", KIND_NUMBER },
    { "born", KIND_DATE },
    { "vip", KIND_TRUTH },
    { "subscriptionGroups.news", KIND_TRUTH },
    { "activity.opened", KIND_COUNT },
    { "activity.clicked", KIND_COUNT },
};

static int64_t activity_of(const struct person *person, const char *type, int64_t within_days)
{
    int64_t sum = 0;
    int64_t today = now_us / day_us;
    int64_t first = within_days > 0 ? (now_us - within_days * day_us) / day_us : INT64_MIN;
    for (size_t i = 0; i < person->happening_count; i++)
        if (strcmp(person->happenings[i].type, type) == 0 && today - person->happenings[i].days_ago >= first)
            sum += person->happenings[i].count;
    return sum;
}

static struct value text_value(const char *text)
{
    return (struct value){ .set = text != NULL, .text = text };
}

static struct value truth_value(int truth)
{
    return (struct value){ .set = truth >= 0, .truth = truth == 1 };
}

static struct value value_of(const struct person *person, const char *name, int64_t within_days)
{
    if (strcmp(name, "email") == 0)
        return text_value(person->email);
    if (strcmp(name, "firstName") == 0)
        return text_value(person->first_name);
    if (strcmp(name, "source") == 0)
        return text_value(person->source);
    if (strcmp(name, "plan") == 0)
        return text_value(person->plan);
    if (strcmp(name, "subscribed") == 0)
        return truth_value(person->subscribed);
    if (strcmp(name, "vip") == 0)
        return truth_value(person->vip);
    if (strcmp(name, "subscriptionGroups.news") == 0)
        return truth_value(person->news);
    if (strcmp(name, "customFields.visits") == 0)
        return (struct value){ .set = person->has_visits, .number = person->visits };
    if (strcmp(name, "createdAt") == 0)
        return (struct value){ .set = true, .when = { true, false, person->created_us } };
    if (strcmp(name, "born") == 0)
        return (struct value){ .set = person->born.set, .when = person->born };
    return (struct value){ .set = true, .number = (double)activity_of(person, name + strlen("activity."), within_days) };
}

/* ---- Conditions ---- */

struct condition {
    const struct subject *subject;
    const char *name; /* of the operator, without not_ */
    bool negated;
    const char *given[2];
    size_t given_count;
    double numbers[2];
    struct when whens[2];
    int64_t days;
    int64_t within_days;
};

static const char *const text_operators[] = { "equals",    "contains", "contains_any", "starts_with",
                                              "ends_with", "in",       "is_not_empty", "exists" };
static const char *const number_operators[] = { "equals", "gt", "gte", "lt", "lte", "between", "in", "is_not_empty", "exists" };
static const char *const count_operators[] = { "equals", "gt", "gte", "lt", "lte", "between" };
static const char *const date_operators[] = { "equals",       "on_date",      "before",       "after", "between",
                                              "in_last_days", "in_next_days", "is_not_empty", "exists" };
static const char *const truth_operators[] = { "equals", "is_true", "is_false", "is_not_empty", "exists" };

static const struct {
    const char *const *names;
    unsigned count;
} operators[] = {
    [KIND_TEXT] = { text_operators, ARRAY_COUNT(text_operators) },
    [KIND_ADDRESS] = { text_operators, ARRAY_COUNT(text_operators) },
    [KIND_NUMBER] = { number_operators, ARRAY_COUNT(number_operators) },
    [KIND_DATE] = { date_operators, ARRAY_COUNT(date_operators) },
    [KIND_TRUTH] = { truth_operators, ARRAY_COUNT(truth_operators) },
    [KIND_COUNT] = { count_operators, ARRAY_COUNT(count_operators) },
};

/* Which of them have an opposite. */
static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static const char *const with_opposite[] = { "equals", "contains", "contains_any", "in", "is_not_empty", "exists", NULL };
static const char *const without_value[] = { "is_not_empty", "exists", "is_true", "is_false", NULL };
static const char *const with_two[] = { "between", "in", "contains_any", NULL };

static struct condition any_condition(void)
{
    struct condition condition = { .subject = &subjects[chance(ARRAY_COUNT(subjects))] };
    enum kind kind = condition.subject->kind;
    condition.name = operators[kind].names[chance(operators[kind].count)];
    condition.negated = is_one_of(condition.name, with_opposite) && chance(2) == 0;
    condition.given_count = is_one_of(condition.name, without_value) ? 0 : is_one_of(condition.name, with_two) ? 2 : 1;
    condition.days = 1 + chance(8);
    condition.within_days = kind == KIND_COUNT && chance(2) == 0 ? 1 + chance(15) : 0;
    bool whole_texts = strcmp(condition.name, "equals") == 0 || strcmp(condition.name, "in") == 0;
    for (size_t i = 0; i < 2; i++) {
        condition.given[i] = kind == KIND_ADDRESS && whole_texts ? people[chance(PEOPLE)].email
                             : whole_texts                       ? any_text(0)
                                                                 : needles[chance(ARRAY_COUNT(needles))];
        condition.numbers[i] = kind == KIND_COUNT ? chance(6) : numbers[chance(ARRAY_COUNT(numbers))];
        condition.whens[i] = any_time();
    }
    if (strcmp(condition.name, "on_date") == 0) {
        condition.whens[0].us -= condition.whens[0].us % day_us;
        condition.whens[0].is_day = true;
    }
    if (condition.numbers[0] > condition.numbers[1]) {
        double lower = condition.numbers[1];
        condition.numbers[1] = condition.numbers[0];
        condition.numbers[0] = lower;
    }
    condition.whens[1].is_day = condition.whens[0].is_day;
    if (condition.whens[0].is_day)
        condition.whens[1].us -= condition.whens[1].us % day_us;
    if (condition.whens[0].us > condition.whens[1].us)
        condition.whens[1] = condition.whens[0];
    return condition;
}

/* ---- Evaluating ---- */

static const char *lowered(const char *text)
{
    char *copy = text_lower(arena, text);
    for (char *at = copy; *at != '\0'; at++)
        if ((unsigned char)at[0] == 0xC3 && (unsigned char)at[1] == 0x89)
            at[1] = (char)0xA9;
    return copy;
}

static bool text_holds(const struct condition *condition, const char *text)
{
    if (strcmp(condition->name, "equals") == 0)
        return strcmp(text, condition->given[0]) == 0;
    if (strcmp(condition->name, "in") == 0)
        return strcmp(text, condition->given[0]) == 0 || strcmp(text, condition->given[1]) == 0;
    const char *low = lowered(text);
    const char *needle = lowered(condition->given[0]);
    size_t size = strlen(low);
    size_t needle_size = strlen(needle);
    if (strcmp(condition->name, "starts_with") == 0)
        return strncmp(low, needle, needle_size) == 0;
    if (strcmp(condition->name, "ends_with") == 0)
        return size >= needle_size && strcmp(low + size - needle_size, needle) == 0;
    bool found = strstr(low, needle) != NULL;
    return strcmp(condition->name, "contains") == 0 ? found : found || strstr(low, lowered(condition->given[1])) != NULL;
}

static bool number_holds(const struct condition *condition, double number)
{
    const double *wanted = condition->numbers;
    if (strcmp(condition->name, "gt") == 0)
        return number > wanted[0];
    if (strcmp(condition->name, "gte") == 0)
        return number >= wanted[0];
    if (strcmp(condition->name, "lt") == 0)
        return number < wanted[0];
    if (strcmp(condition->name, "lte") == 0)
        return number <= wanted[0];
    if (strcmp(condition->name, "between") == 0)
        return number >= wanted[0] && number <= wanted[1];
    return number == wanted[0] || (strcmp(condition->name, "in") == 0 && number == wanted[1]);
}

static int64_t day_of(int64_t us)
{
    int64_t local = us + zone_us;
    return local - local % day_us;
}

/* -1, 0 or 1: the date is before, at or after a moment. */
static int against(struct when date, struct when moment)
{
    int64_t left = date.us;
    int64_t from = moment.us;
    int64_t to = moment.us;
    if (date.is_day && !moment.is_day) {
        from = to = day_of(moment.us);
    } else if (!date.is_day && moment.is_day) {
        from = moment.us - zone_us;
        to = from + day_us - US_PER_MS;
    }
    return left < from ? -1 : left > to;
}

static bool date_holds(const struct condition *condition, struct when date)
{
    const struct when *whens = condition->whens;
    const struct when now = { true, false, now_us };
    if (strcmp(condition->name, "before") == 0)
        return against(date, whens[0]) < 0;
    if (strcmp(condition->name, "after") == 0)
        return against(date, whens[0]) > 0;
    if (strcmp(condition->name, "between") == 0)
        return against(date, whens[0]) >= 0 && against(date, whens[1]) <= 0;
    if (strcmp(condition->name, "in_last_days") == 0)
        return against(date, now) <= 0 && date.us >= (date.is_day ? day_of(now_us) : now_us) - condition->days * day_us;
    if (strcmp(condition->name, "in_next_days") == 0)
        return against(date, now) >= 0 && date.us <= (date.is_day ? day_of(now_us) : now_us) + condition->days * day_us;
    return (whens[0].is_day || !date.is_day) && against(date, whens[0]) == 0;
}

static bool value_holds(const struct condition *condition, struct value value)
{
    enum kind kind = condition->subject->kind;
    bool is_text = kind == KIND_TEXT || kind == KIND_ADDRESS;
    if (strcmp(condition->name, "exists") == 0)
        return value.set;
    if (strcmp(condition->name, "is_not_empty") == 0)
        return value.set && !(is_text && value.text[0] == '\0');
    if (!value.set)
        return false;
    if (is_text)
        return text_holds(condition, value.text);
    if (kind == KIND_NUMBER || kind == KIND_COUNT)
        return number_holds(condition, value.number);
    if (kind == KIND_DATE)
        return date_holds(condition, value.when);
    return value.truth == (strcmp(condition->name, "is_false") != 0);
}

static bool holds(const struct condition *condition, const struct person *person)
{
    return value_holds(condition, value_of(person, condition->subject->name, condition->within_days)) != condition->negated;
}

/* ---- Writing a condition, in the forms a caller may choose ---- */

static const char *given_text(const struct condition *condition, size_t index)
{
    switch (condition->subject->kind) {
    case KIND_TEXT:
    case KIND_ADDRESS:
        return condition->given[index];
    case KIND_NUMBER:
    case KIND_COUNT:
        return arena_printf(arena, "%.10g", condition->numbers[index]);
    case KIND_DATE:
        return when_text(condition->whens[index]);
    case KIND_TRUTH:
        break;
    }
    return "true";
}

static const char *given_json(const struct condition *condition, size_t index)
{
    enum kind kind = condition->subject->kind;
    bool bare = kind == KIND_NUMBER || kind == KIND_COUNT || kind == KIND_TRUTH;
    const char *text = given_text(condition, index);
    return bare && chance(2) == 0 ? text : quoted(text);
}

static const char *operator_text(const struct condition *condition)
{
    if (!condition->negated)
        return condition->name;
    if (strcmp(condition->name, "is_not_empty") == 0)
        return "is_empty";
    return arena_printf(arena, "not_%s", condition->name);
}

static void write_condition(const struct condition *condition, struct buf *json)
{
    buf_printf(json, "{\"field\":\"%s\",\"operator\":\"%s\"", condition->subject->name, operator_text(condition));
    if (condition->within_days > 0)
        buf_printf(json, ",\"withinDays\":%lld", (long long)condition->within_days);
    bool counts_days = strcmp(condition->name, "in_last_days") == 0 || strcmp(condition->name, "in_next_days") == 0;
    /* Texts that hold a comma, or nothing, need the array. */
    bool as_text = chance(2) == 0 && strchr(given_text(condition, 0), ',') == NULL &&
                   strchr(given_text(condition, 1), ',') == NULL && given_text(condition, 0)[0] != '\0' &&
                   given_text(condition, 1)[0] != '\0';
    if (counts_days)
        buf_printf(json, ",\"value\":%lld", (long long)condition->days);
    else if (condition->given_count == 1)
        buf_printf(json, ",\"value\":%s", given_json(condition, 0));
    else if (condition->given_count == 2 && as_text)
        buf_printf(json, ",\"value\":%s",
                   quoted(arena_printf(arena, "%s, %s", given_text(condition, 0), given_text(condition, 1))));
    else if (condition->given_count == 2)
        buf_printf(json, ",\"value\":[%s,%s]", given_json(condition, 0), given_json(condition, 1));
    buf_add_text(json, "}");
}

/* ---- Groups ---- */

/* Writes a random group and crosses out, in `members`, whom it does not hold for. */
static void any_group(unsigned depth, struct buf *json, bool members[PEOPLE])
{
    bool is_and = chance(2) == 0;
    unsigned count = 1 + chance(3);
    for (size_t i = 0; i < PEOPLE; i++)
        members[i] = is_and;
    buf_printf(json, "{\"logic\":\"%s\",\"filters\":[", is_and ? "and" : "or");
    for (unsigned at = 0; at < count; at++) {
        bool inner[PEOPLE];
        buf_add_text(json, at > 0 ? "," : "");
        if (depth < 3 && chance(4) == 0) {
            any_group(depth + 1, json, inner);
        } else {
            struct condition condition = any_condition();
            write_condition(&condition, json);
            for (size_t i = 0; i < PEOPLE; i++)
                inner[i] = holds(&condition, &people[i]);
        }
        for (size_t i = 0; i < PEOPLE; i++)
            members[i] = is_and ? members[i] && inner[i] : members[i] || inner[i];
    }
    buf_add_text(json, "]}");
}

static void compare(const char *json, const bool members[PEOPLE])
{
    struct error err;
    struct contact_page page;
    struct contact_search search = { .filters = json_of(json), .order_by = CONTACT_BY_EMAIL, .limit = PEOPLE };
    int64_t wanted = 0;
    int64_t count;
    assert_ok(contact_find(&work, &search, &page, &err), &err);
    assert_ok(contact_count(&work, &search, &count, &ignoring_case, &err), &err);
    size_t at = 0;
    for (size_t i = 0; i < PEOPLE; i++) {
        bool found = at < page.count && strcmp(page.contacts[at].email, people[i].email) == 0;
        if (found != members[i])
            fail_msg("%s is%s found by %s", people[i].email, found ? "" : " not", json);
        at += found ? 1 : 0;
        wanted += members[i] ? 1 : 0;
    }
    assert_int_equal(count, wanted);
}

/* every operator of every type, alone and combined. */
static void test_every_operator_alone(void **state)
{
    (void)state;
    make_people();
    for (size_t at = 0; at < ARRAY_COUNT(subjects); at++) {
        for (unsigned i = 0; i < operators[subjects[at].kind].count; i++) {
            for (int negated = 0; negated <= 1; negated++) {
                struct condition condition = any_condition();
                condition.subject = &subjects[at];
                do
                    condition = any_condition();
                while (condition.subject != &subjects[at] || strcmp(condition.name, operators[subjects[at].kind].names[i]) != 0);
                condition.negated = negated == 1 && is_one_of(condition.name, with_opposite);
                bool members[PEOPLE];
                struct buf *json = buf_in_arena(arena, 4096);
                buf_add_text(json, "[");
                write_condition(&condition, json);
                buf_add_text(json, "]");
                for (size_t person = 0; person < PEOPLE; person++)
                    members[person] = holds(&condition, &people[person]);
                compare(buf_text(json), members);
            }
        }
    }
}

static void test_random_filters(void **state)
{
    (void)state;
    make_people();
    for (int i = 0; i < FILTERS; i++) {
        bool members[PEOPLE];
        struct buf *json = buf_in_arena(arena, 64 * 1024);
        any_group(1, json, members);
        compare(buf_text(json), members);
    }
}

int main(void)
{
    const char *given = getenv("POSTHORN_SEED");
    seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    printf("POSTHORN_SEED=%u\n", seed);
    const struct CMUnitTest tests[] = {
        CONTACTS_TEST(test_every_operator_alone),
        CONTACTS_TEST(test_random_filters),
    };
    return cmocka_run_group_tests(tests, contacts_group_setup, group_teardown);
}
