/*
 * Judging hits: a crowd of persons, proxies and scanners has exact figures; the
 * judgement does not depend on the order and the cuts of the passes; changed
 * rules give the figures of a fresh count.
 */
#include "fixtures/engine_fixture.h"

#include "base/clock.h"
#include "engine/hits/hit_matches.h"
#include "engine/hits/hits.h"
#include "engine/hits/judge_hits.h"
#include "engine/operator/operator_hit_rules.h"
#include "fixtures/hit_reference.h"

#include <stdlib.h>

enum { RECIPIENTS = 60, RANDOM_RECIPIENTS = 6, RANDOM_HITS = 90, ROUNDS = 4 };

static const int64_t begun_us = INT64_C(1767225600) * US_PER_S; /* 2026-01-01; all messages were delivered then */
static const int64_t later_us = begun_us + INT64_C(86400) * US_PER_S;
static const char firefox[] = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
static const char gmail[] = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)";
static const char apple[] = "Mozilla/5.0";
static const char barracuda[] = "BarracudaCentral/1.0";
static const char at_home[] = "203.0.113.77";
static const char in_cloud[] = "54.145.1.2";

static int64_t send_id;

static void make_send(void)
{
    int64_t email_id = design_of("<p>Hi</p>", "Hi\n");
    run_sql(
        "insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, from_address,"
        "                   domain_id, target, target_hash, created_at, updated_at, is_tracked, started_at)"
        "select %lld, 'campaign', 'marketing', %lld, 1, 'completed', 'Hi', '', 'a@b.example', 1, 'all', '', now(), now(), true, "
        "now()",
        (long long)work.brand_id, (long long)email_id);
    send_id = number_of("select max(id) from sends");
    run_sql(
        "insert into send_stats (brand_id, send_id) values (%1$lld, %2$lld);"
        "insert into contacts (brand_id, email, email_key, source, subscribed, created_at, updated_at)"
        " select %1$lld, 'r' || n || '@d' || n %% 3 || '.example', 'r' || n || '@d' || n %% 3 || '.example', 's' || n %% 2, true,"
        " now(), now() from generate_series(1, %3$d) n;"
        "insert into send_recipients (brand_id, send_id, ordinal, email, email_key)"
        " select %1$lld, %2$lld, n, 'r' || n || '@d' || n %% 3 || '.example', 'r' || n || '@d' || n %% 3 || '.example'"
        "   from generate_series(1, %3$d) n;"
        "insert into send_results (brand_id, send_id, ordinal, outcome, occurred_at)"
        " select %1$lld, %2$lld, n, 'delivered', '2026-01-01' from generate_series(1, %3$d) n",
        (long long)work.brand_id, (long long)send_id, RECIPIENTS);
}

static int begin(void **state)
{
    int failed = world_reset(state);
    hit_matchers_free(work.engine->hit_matchers);
    work.engine->hit_matchers = hit_matchers_new();
    run_sql("delete from recipient_events; delete from contact_activity; delete from event_rollups; delete from hits;"
            "delete from hit_judgements; delete from hit_rules; delete from hit_matches; delete from hit_rule_revisions;"
            "delete from audit_log");
    make_send();
    return failed;
}

static struct hit hit_of(int64_t ordinal, enum hit_kind kind, int64_t link, const char *agent, const char *address, double after_s)
{
    return (struct hit){
        .brand_id = work.brand_id,
        .send_id = send_id,
        .ordinal = ordinal,
        .kind = kind,
        .link = kind == HIT_OPEN ? HIT_LINK_OPEN : link,
        .method = "GET",
        .agent = agent,
        .address = address,
        .url = kind == HIT_OPEN ? NULL : arena_printf(arena, "https://shop.example/%lld", (long long)link),
        .at_us = begun_us + (int64_t)(after_s * 1000) * 1000,
    };
}

static void add(const struct hit *hits, size_t count)
{
    struct error err;
    struct db_batch *batch = db_batch_new(conn, arena);
    hits_add(&work, batch, hits, count);
    assert_ok(db_batch_run(batch, &err), &err);
}

static void add_open(int64_t ordinal, const char *agent, const char *address, double after_s)
{
    struct hit hit = hit_of(ordinal, HIT_OPEN, HIT_LINK_OPEN, agent, address, after_s);
    add(&hit, 1);
}

static void add_click(int64_t ordinal, int64_t link, const char *agent, const char *address, double after_s)
{
    struct hit hit = hit_of(ordinal, HIT_CLICK, link, agent, address, after_s);
    add(&hit, 1);
}

/* One pass; a cut one leaves nothing. */
static struct judge_left pass(const struct hit_rules *rules, int64_t now_us, bool is_cut)
{
    struct error err;
    struct judge_left left;
    DB_TX tx;
    work.now_us = now_us;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(hits_judge(&work, rules, &left, &err), &err);
    if (!is_cut)
        assert_ok(db_tx_commit(&tx, &err), &err);
    return left;
}

static void judge_all(const struct hit_rules *rules)
{
    for (int passes = 0; !pass(rules, later_us, false).is_done; passes++)
        assert_true(passes < 100);
}

/* The figures of all tables, counted from the events. No row: they agree. */
#define DISAGREEING                                                                                                                \
    "with feed as (select e.*, split_part(e.recipient_key, '@', 2) as receiver, c.source from events e"                            \
    "                left join contacts c on c.email_key = e.recipient_key where e.event_type in ('opened', 'clicked')),"          \
    " counted as (select 'activity' as what, event_type || recipient_key || (occurred_at at time zone 'UTC')::date as key,"        \
    "                    count(*) from feed group by 1, 2"                                                                         \
    "  union all select 'hours', event_type || extract(epoch from date_trunc('hour', occurred_at, 'UTC')), count(*) from feed "    \
    "group by 1, 2"                                                                                                                \
    "  union all select 'rollups', event_type || send_id || receiver || source || (occurred_at at time zone 'UTC')::date, "        \
    "count(*)"                                                                                                                     \
    "              from feed group by 1, 2"                                                                                        \
    "  union all select 'stats', event_type || send_id, count(*) from feed group by 1, 2"                                          \
    "  union all select 'first', event_type || recipient_key || extract(epoch from occurred_at), count(*) from feed group by 1, "  \
    "2),"                                                                                                                          \
    " stored as (select 'activity', event_type || email_key || day, count from contact_activity"                                   \
    "  union all select 'hours', event_type || extract(epoch from hour), count from event_counts"                                  \
    "  union all select 'rollups', event_type || send_id || receiving_domain || source || day, count from event_rollups"           \
    "  union all select 'stats', 'opened' || send_id, opened from send_stats where opened <> 0"                                    \
    "  union all select 'stats', 'clicked' || send_id, clicked from send_stats where clicked <> 0"                                 \
    "  union all select 'first', e.event_type || r.email_key || extract(epoch from e.occurred_at), 1 from recipient_events e"      \
    "              join send_recipients r using (brand_id, send_id, ordinal))"                                                     \
    " select count(*) from ((table counted except all table stored) union all (table stored except all table counted)) d"

static void assert_figures_agree(void)
{
    assert_int_equal(number_of(DISAGREEING), 0);
}

/* ---- Classes ---- */

static void test_classes(void **state)
{
    (void)state;
    assert_string_equal(hit_agent_class(""), "empty");
    assert_string_equal(hit_agent_class(apple), "apple_proxy");
    assert_string_equal(hit_agent_class("Mozilla/5.0 "), "other");
    assert_string_equal(hit_agent_class(gmail), "gmail_proxy");
    assert_string_equal(hit_agent_class(firefox), "browser");
    assert_string_equal(hit_agent_class("CURL/8.1"), "library");
    assert_string_equal(hit_agent_class("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"), "bot");
    assert_string_equal(hit_agent_class("Mozilla/5.0 (Linux; Android 13; CUBOT NOTE 20) AppleWebKit/537.36"), "browser");
    char *is_long = arena_alloc(arena, 5000);
    memset(is_long, 'x', 4900);
    strcpy(is_long + 4900, "curl/8");
    assert_string_equal(hit_agent_class(is_long), "other");
    assert_string_equal(hit_network_class("17.1.2.3"), "apple");
    assert_string_equal(hit_network_class("18.1.2.3"), "other");
    assert_string_equal(hit_network_class("40.93.0.1"), "microsoft_mail");
    assert_string_equal(hit_network_class("40.94.0.1"), "other");
    assert_string_equal(hit_network_class("::ffff:17.1.2.3"), "apple");
    assert_string_equal(hit_network_class("2620:149:5::1"), "apple");
    assert_string_equal(hit_network_class("2620:14a::1"), "other");
    assert_string_equal(hit_network_class("somewhere"), "other");
    assert_string_equal(hit_network_class(NULL), "other");
}

/* ---- A crowd ---- */

/* Three persons, two of them behind Gmail; an Apple proxy; scanners: one by its name, one by its sweep, one by a hidden link. */
static void add_crowd(void)
{
    add_open(1, firefox, at_home, 60);
    add_click(1, 3, firefox, at_home, 90);
    add_click(1, 4, firefox, at_home, 120);
    add_open(2, gmail, "66.249.84.1", 2);
    add_open(2, gmail, "66.249.84.1", 600);
    add_click(3, 1, firefox, at_home, 600);
    add_open(4, apple, "17.58.1.1", 1);
    add_open(4, apple, "17.58.1.1", 900);
    add_open(5, barracuda, at_home, 1);
    add_click(5, 0, barracuda, at_home, 2);
    for (int link = 0; link < 5; link++)
        add_click(6, link, firefox, at_home, 30 + link * 0.4);
    add_open(6, firefox, at_home, 33);
    add_click(7, HIT_LINK_HIDDEN, firefox, at_home, 3);
    add_click(7, 2, firefox, at_home, 4);
    struct hit head = hit_of(8, HIT_CLICK, 1, firefox, at_home, 40);
    head.method = "HEAD";
    add(&head, 1);
    add_click(8, 1, firefox, at_home, 41);
    add_click(9, 1, "Something/1.0", at_home, 3);
    add_click(10, 1, firefox, in_cloud, 3);
    add_click(11, 1, firefox, in_cloud, 300);
}

/* D-116: the first open and click of a person count; a click implies an open. R-288: the figures equal the events. */
static void test_crowd(void **state)
{
    (void)state;
    add_crowd();
    judge_all(&hit_rules_built_in);
    assert_int_equal(number_of("select opened * 100 + clicked from send_stats"), 403);
    assert_int_equal(number_of("select count(*) from hits where actor is null"), 0);
    assert_int_equal(number_of("select count(*) from hits where actor = 'proxy' and reason = 'agent:apple_proxy'"), 2);
    assert_int_equal(number_of("select count(*) from hits where ordinal = 5 and actor = 'bot' and reason = 'agent:scanner'"), 2);
    assert_int_equal(number_of("select count(*) from hits where ordinal = 6 and actor = 'bot' and reason = 'sweep'"), 6);
    assert_int_equal(
        number_of("select count(*) from hits where ordinal = 7 and reason in ('hidden_link', 'burst_with_hidden_link')"), 2);
    assert_int_equal(number_of("select count(*) from hits where ordinal = 8 and reason in ('method', 'burst_with_method')"), 2);
    assert_int_equal(number_of("select count(*) from hits where ordinal in (9, 10) and actor = 'bot' and reason = 'fast'"), 2);
    assert_int_equal(number_of("select count(*) from hits where ordinal = 2 and actor = 'human' and reason = 'agent:gmail_proxy'"),
                     2);
    assert_int_equal(number_of("select count(*) from hits where ordinal in (1, 3, 11) and actor = 'human' and reason = 'person'"),
                     5);
    assert_int_equal(number_of("select count(*) from events where event_type = 'opened' and recipient_key like 'r3@%'"
                               " and occurred_at = '2026-01-01 00:10:00Z' and actor = 'human'"),
                     1);
    assert_int_equal(number_of("select count(*) from events where event_type = 'clicked' and recipient_key like 'r1@%'"
                               " and occurred_at = '2026-01-01 00:01:30Z' and url = 'https://shop.example/3' and actor = 'human'"),
                     1);
    assert_figures_agree();
    judge_all(&hit_rules_built_in);
    assert_figures_agree();
    assert_int_equal(number_of("select opened * 100 + clicked from send_stats"), 403);
}

/* Contacts are selected by the activity of persons only. */
static void test_activity_is_of_persons(void **state)
{
    (void)state;
    add_crowd();
    judge_all(&hit_rules_built_in);
    assert_int_equal(number_of("select count(*) from contact_activity where event_type = 'clicked'"), 3);
    assert_int_equal(number_of("select count(*) from contact_activity where event_type = 'opened'"), 4);
    assert_int_equal(number_of("select count(*) from contact_activity where email_key like 'r4@%' or email_key like 'r6@%'"), 0);
}

/* A hit waits for its burst: the links that a scanner follows after the first one make the first one its own. */
static void test_a_hit_is_held(void **state)
{
    (void)state;
    add_click(1, 0, firefox, at_home, 100);
    struct judge_left left = pass(&hit_rules_built_in, begun_us + 105 * US_PER_S, false);
    assert_false(left.is_done);
    assert_int_equal(left.next_due_us, begun_us + 112 * US_PER_S);
    assert_int_equal(number_of("select clicked from send_stats"), 0);
    add_click(1, 1, firefox, at_home, 101);
    add_click(1, 2, firefox, at_home, 102);
    judge_all(&hit_rules_built_in);
    assert_int_equal(number_of("select clicked + opened from send_stats"), 0);
    assert_int_equal(number_of("select count(*) from hits where reason = 'sweep'"), 3);
}

/* a clock that is set back delays judgements, and one that jumps over the hold judges at once. Hits of the repeated time
 * join the burst of those that are judged. */
static void test_a_clock_that_moves_over_the_hold(void **state)
{
    (void)state;
    add_click(1, 0, firefox, at_home, 100);
    struct judge_left left = pass(&hit_rules_built_in, begun_us + 50 * US_PER_S, false);
    assert_false(left.is_done);
    assert_int_equal(left.next_due_us, begun_us + 112 * US_PER_S);
    judge_all(&hit_rules_built_in);
    assert_int_equal(number_of("select clicked * 10 + opened from send_stats"), 11);
    add_click(1, 1, firefox, at_home, 99);
    add_click(1, 2, firefox, at_home, 99.5);
    assert_false(pass(&hit_rules_built_in, begun_us + 60 * US_PER_S, false).is_done);
    assert_int_equal(number_of("select clicked * 10 + opened from send_stats"), 11);
    judge_all(&hit_rules_built_in);
    assert_int_equal(number_of("select clicked * 10 + opened from send_stats"), 0);
    assert_int_equal(number_of("select count(*) from hits where reason = 'sweep'"), 3);
    assert_figures_agree();
}

/* The bounds of a burst and of a sweep are inclusive. */
static void test_bounds(void **state)
{
    (void)state;
    for (int link = 0; link < 3; link++) {
        add_click(1, link, firefox, at_home, 100 + link);
        add_click(2, link, firefox, at_home, 100 + link * 1.001);
        add_click(3, link, firefox, at_home, 100 + link);
        add_click(4, link, firefox, at_home, 100 + link);
        add_click(5, link % 2, firefox, at_home, 100 + link);
    }
    add_click(3, 9, firefox, at_home, 112);
    add_click(4, 9, firefox, at_home, 112.001);
    judge_all(&hit_rules_built_in);
    assert_int_equal(number_of("select count(*) from recipient_events where ordinal = 1"), 0);
    assert_int_equal(number_of("select count(*) from recipient_events where ordinal = 2"), 2);
    assert_int_equal(number_of("select count(*) from recipient_events where ordinal = 3"), 0);
    assert_int_equal(number_of("select count(*) from recipient_events where ordinal = 4"), 2);
    assert_int_equal(number_of("select count(*) from recipient_events where ordinal = 5"), 2);
}

/* ---- Other rules ---- */

/* The rules of the program with another judgement of Apple's proxy, of cloud networks and of sweeps. */
static struct hit_rules other_rules(int version)
{
    static struct hit_class agents[64];
    static struct hit_class networks[16];
    struct hit_rules rules = hit_rules_built_in;
    assert_true(rules.agent_count <= ARRAY_COUNT(agents) && rules.network_count <= ARRAY_COUNT(networks));
    memcpy(agents, rules.agents, rules.agent_count * sizeof(*agents));
    memcpy(networks, rules.networks, rules.network_count * sizeof(*networks));
    for (size_t i = 0; i < rules.agent_count; i++)
        if (strcmp(agents[i].name, "apple_proxy") == 0)
            agents[i].open = "human";
    for (size_t i = 0; i < rules.network_count; i++)
        if (strcmp(networks[i].name, "cloud") == 0)
            networks[i].click = "bot";
    rules.agents = agents;
    rules.networks = networks;
    rules.version = version;
    rules.sweep_links = 6;
    return rules;
}

/* Everything that a count produces, as one number. */
#define COUNTED                                                                                                                    \
    "select ('x' || left(md5(string_agg(line, ' ' order by line)), 15))::bit(60)::bigint from ("                                   \
    " select event_type || ordinal || ' ' || extract(epoch from occurred_at) as line from recipient_events"                        \
    " union all select 'a' || event_type || email_key || day || ' ' || count from contact_activity"                                \
    " union all select 'h' || event_type || extract(epoch from hour) || ' ' || count from event_counts"                            \
    " union all select 'r' || event_type || receiving_domain || source || day || ' ' || count from event_rollups"                  \
    " union all select 'j' || ordinal || extract(epoch from occurred_at) || coalesce(link, -1) || actor || reason from hits) l"

static void forget_judgements(void)
{
    run_sql("delete from recipient_events; delete from contact_activity; delete from event_rollups; delete from event_counts;"
            "delete from events; delete from hit_judgements; update hits set actor = null, reason = null, rules_version = null;"
            "update send_stats set opened = 0, clicked = 0");
}

/* the figures after a change of the rules equal those of a fresh count, whatever is cut. */
static void test_other_rules_judge_again(void **state)
{
    (void)state;
    struct hit_rules rules = other_rules(hit_rules_built_in.version + 1);
    add_crowd();
    judge_all(&hit_rules_built_in);
    pass(&rules, later_us, true);
    assert_int_equal(number_of("select opened * 100 + clicked from send_stats"), 403);
    judge_all(&rules);
    assert_figures_agree();
    assert_int_equal(number_of("select opened * 100 + clicked from send_stats"), 503);
    assert_int_equal(number_of("select count(*) from events where recipient_key like 'r4@%' and event_type = 'opened'"), 1);
    assert_int_equal(number_of("select count(*) from events where recipient_key like 'r11@%'"), 0);
    assert_int_equal(number_of("select count(*) from events where recipient_key like 'r6@%'"), 2);
    assert_int_equal(number_of("select count(*) from contact_activity where email_key like 'r11@%' or count <= 0"), 0);
    assert_int_equal(number_of("select rules_version::bigint from hit_judgements"), rules.version);
    int64_t again = number_of(COUNTED);
    forget_judgements();
    judge_all(&rules);
    assert_int_equal(number_of(COUNTED), again);
    struct judge_left left = pass(&hit_rules_built_in, later_us, false);
    assert_false(left.is_done);
    assert_true(left.next_due_us > later_us);
    assert_int_equal(number_of(COUNTED), again);
}

/* ---- Rules of the operator ---- */

static struct json_writer *writer(void)
{
    struct json_writer *json = arena_alloc(arena, sizeof(*json));
    json_writer_init(json, buf_in_arena(arena, 1024 * 1024));
    return json;
}

static void set_rule(const char *subject, const char *decision)
{
    struct error err;
    assert_ok(operator_set_hit_rule(&work, subject, decision, writer(), &err), &err);
}

static struct hit_rules loaded(void)
{
    struct hit_rules rules;
    struct error err;
    assert_ok(hit_rules_load(&work, &rules, &err), &err);
    return rules;
}

static void assert_rule_refused(const char *subject, const char *decision, const char *param)
{
    struct error err = { .code = ERR_NONE };
    assert_false(operator_set_hit_rule(&work, subject, decision, writer(), &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
}

/* a rule of the operator wakes the job of the brand, and the figures become those of a fresh count; without it they are as
 * before. */
static void test_rules_of_the_operator_judge_again(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct hit_rules rules = loaded();
    assert_int_equal(rules.version, hit_rules_built_in.version);
    add_crowd();
    judge_all(&rules);
    int64_t before = number_of(COUNTED);
    set_rule("agent:apple_proxy", "open=human");
    rules = loaded();
    assert_int_equal(rules.version, hit_rules_built_in.version + 1);
    set_rule("agent:apple_proxy", "open=human");
    assert_int_equal(loaded().version, rules.version); /* nothing has changed */
    run_sql("delete from jobs where kind = 'judge_hits'");
    assert_ok(hits_tend(conn, arena, later_us, &err), &err);
    assert_int_equal(number_of("select count(*) from jobs where kind = 'judge_hits'"), 1);
    judge_all(&rules);
    assert_figures_agree();
    assert_int_equal(number_of("select count(*) from events where recipient_key like 'r4@%' and event_type = 'opened'"), 1);
    int64_t after = number_of(COUNTED);
    assert_int_not_equal(after, before);
    forget_judgements();
    judge_all(&rules);
    assert_int_equal(number_of(COUNTED), after);
    assert_ok(operator_remove_hit_rule(&work, "agent:apple_proxy", "open", writer(), &err), &err);
    rules = loaded();
    assert_int_equal(rules.version, hit_rules_built_in.version + 2);
    judge_all(&rules);
    assert_int_equal(number_of(COUNTED), before);
}

static void test_rules_of_the_operator_are_checked(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    assert_rule_refused("agent:nobody", "open=bot", "class");
    assert_rule_refused("apple_proxy", "open=bot", "class");
    assert_rule_refused("network:apple_proxy", "open=bot", "class");
    assert_rule_refused("agent:apple_proxy", "opens=bot", "kind");
    assert_rule_refused("agent:apple_proxy", "open=person", "actor");
    assert_rule_refused("agent:apple_proxy", "open", "actor");
    assert_false(operator_remove_hit_rule(&work, "agent:apple_proxy", "open", writer(), &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    set_rule("network:microsoft_mail", "click=facts");
    struct hit_rules rules = loaded();
    for (size_t i = 0; i < rules.network_count; i++)
        if (strcmp(rules.networks[i].name, "microsoft_mail") == 0) {
            assert_null(rules.networks[i].click);
            assert_string_equal(rules.networks[i].open, "bot");
        }
    assert_int_equal(number_of("select count(*) from audit_log where operation = 'admin.hit-rule.set'"), 1);
}

/* ---- Words and ranges of the operator ---- */

static void add_match(const char *fact, const char *text, const char *actor)
{
    struct error err;
    assert_ok(operator_add_hit_match(&work, fact, text, actor, writer(), &err), &err);
}

static void remove_match(const char *fact, const char *text)
{
    struct error err;
    assert_ok(operator_remove_hit_match(&work, fact, text, writer(), &err), &err);
}

/* The statements are prepared by their addresses. */
#define OPENED_BY(ordinal) "select count(*) from recipient_events where event_type = 'opened' and ordinal = " ordinal

static int64_t opened_by(size_t ordinal)
{
    static const char *const opened[] = { OPENED_BY("0"), OPENED_BY("1"), OPENED_BY("2"),
                                          OPENED_BY("3"), OPENED_BY("4"), OPENED_BY("5") };
    struct hit_rules rules = loaded();
    judge_all(&rules);
    assert_figures_agree();
    return number_of(opened[ordinal]);
}

/* a word takes the place of the program's class for the requests that come after it; its actor may change, and its removal
 * gives the class back. */
static void test_words_of_the_operator(void **state)
{
    (void)state;
    add_open(1, "InboxGuard/2 Chrome/120", at_home, 100);
    assert_int_equal(opened_by(1), 1);
    add_match("agent", "InboxGuard", "bot");
    add_open(2, "INBOXGUARD/2 Chrome/120", at_home, 200);
    assert_int_equal(opened_by(2), 0);
    assert_int_equal(opened_by(1), 1); /* its agent is not known any more */
    assert_int_equal(number_of("select count(*) from hits where reason = 'word:inboxguard'"), 1);
    add_match("agent", "InboxGuard", "human");
    assert_int_equal(opened_by(2), 1);
    add_match("agent", "inboxguard", "bot");
    assert_int_equal(opened_by(2), 0);
    remove_match("agent", "InboxGuard");
    assert_int_equal(opened_by(2), 1);
    add_match("agent", "BarracudaCentral", "facts");
    add_open(3, barracuda, at_home, 300);
    assert_int_equal(opened_by(3), 1);
}

/* a range is also found around the truncated addresses of earlier requests; without its bits they keep what they have. */
static void test_ranges_of_the_operator(void **state)
{
    (void)state;
    add_open(1, firefox, "198.51.100.20", 100);
    add_open(2, firefox, "2001:db8:5:1::9", 100);
    add_open(3, firefox, "40.93.1.1", 100); /* of Microsoft's scanners */
    assert_int_equal(opened_by(1) + opened_by(2) + opened_by(3), 2);
    add_match("network", "198.51.100.0/24", "bot");
    add_match("network", "2001:DB8:5::/48", "proxy");
    add_match("network", "40.93.0.0/16", "human");
    assert_int_equal(opened_by(1) + opened_by(2), 0);
    assert_int_equal(opened_by(3), 1);
    assert_int_equal(number_of("select count(*) from hits where reason = 'range:2001:db8:5::/48' and actor = 'proxy'"), 1);
    add_match("network", "198.51.100.16/28", "human");
    add_open(4, firefox, "198.51.100.20", 400);
    add_open(5, firefox, "198.51.100.40", 400);
    assert_int_equal(opened_by(4), 1);
    assert_int_equal(opened_by(1) + opened_by(5), 0);
    run_sql("update hits set address = null");
    remove_match("network", "198.51.100.16/28");
    assert_int_equal(opened_by(4), 1);
    assert_int_equal(opened_by(1), 0);
    remove_match("network", "198.51.100.0/24");
    assert_int_equal(opened_by(1), 1);
}

static void assert_match_refused(const char *fact, const char *text, const char *actor, const char *param)
{
    struct error err = { .code = ERR_NONE };
    assert_false(operator_add_hit_match(&work, fact, text, actor, writer(), &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
}

static void test_words_and_ranges_are_checked(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    char long_word[HIT_WORD_MAX_CHARS + 2];
    memset(long_word, 'a', sizeof(long_word) - 1);
    long_word[sizeof(long_word) - 1] = '\0';
    assert_match_refused("program", "Guard", "bot", "fact");
    assert_match_refused("agent", "ab", "bot", "word");
    assert_match_refused("agent", long_word, "bot", "word");
    assert_match_refused("agent", " Guard", "bot", "word");
    assert_match_refused("agent", "5.0", "bot", "word");
    assert_match_refused("agent", "Gu\xc3\xa4rd", "bot", "word");
    assert_match_refused("agent", "Guard", "person", "actor");
    assert_match_refused("network", "somewhere", "bot", "range");
    assert_match_refused("network", "192.0.2.0/33", "bot", "range");
    assert_match_refused("network", "192.0.2.1/24", "bot", "range");
    assert_match_refused("network", "0.0.0.0/0", "bot", "range");
    assert_match_refused("network", "2000::/15", "bot", "range");
    assert_match_refused("network", "192.0.2.0/", "bot", "range");
    assert_false(operator_remove_hit_match(&work, "agent", "Guard", writer(), &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    add_match("network", "::ffff:192.0.2.0/120", "bot");
    add_match("network", "192.0.2.0/24", "bot");
    add_match("network", "192.0.2.7", "bot");
    assert_int_equal(number_of("select count(*) from hit_matches where match in ('192.0.2.0/24', '192.0.2.7/32')"), 2);
    assert_int_equal(loaded().version, hit_rules_built_in.version + 2); /* the second changed nothing */
    run_sql("insert into hit_matches (organization_id, fact, match, actor, created_at)"
            " select 0, 'agent', 'word' || n, 'bot', now() from generate_series(1, %d) n",
            HIT_WORDS_MAX);
    assert_match_refused("agent", "Guard", "bot", "word");
    add_match("agent", "word7", "human");
    run_sql("insert into hit_matches (organization_id, fact, match, actor, created_at)"
            " select 0, 'network', '198.51.' || n / 250 || '.' || n %% 250 || '/32', 'bot', now() from generate_series(3, %d) n",
            HIT_RANGES_MAX);
    assert_match_refused("network", "203.0.113.0/24", "bot", "range");
}

/* An event stays when the month of its hit was removed. */
static void test_events_outlive_their_hits(void **state)
{
    (void)state;
    struct hit_rules rules = other_rules(hit_rules_built_in.version + 1);
    add_click(1, 1, firefox, in_cloud, 300);
    judge_all(&hit_rules_built_in);
    run_sql("delete from hits");
    add_click(1, 2, firefox, in_cloud, 900);
    judge_all(&rules);
    assert_int_equal(number_of("select count(*) from events where occurred_at = '2026-01-01 00:05:00Z'"), 2);
    assert_figures_agree();
}

/* ---- Random hits ---- */

static const char *const random_agents[] = { firefox, apple, gmail, barracuda, "Something/1.0" };
static const char *const random_addresses[] = { at_home, in_cloud, "17.1.1.1", "40.93.1.1" };
static const char *const random_methods[] = { "GET", "GET", "GET", "GET", "GET", "GET", "GET", "HEAD" };

static int draw(int below)
{
    return (int)(random() % below);
}

static struct hit random_hit(void)
{
    int64_t link = draw(12) == 0 ? HIT_LINK_HIDDEN : draw(5);
    struct hit hit = hit_of(1 + draw(RANDOM_RECIPIENTS), draw(4) == 0 ? HIT_OPEN : HIT_CLICK, link,
                            random_agents[draw(3) == 0 ? draw(ARRAY_COUNT(random_agents)) : 0],
                            random_addresses[draw(3) == 0 ? draw(ARRAY_COUNT(random_addresses)) : 0], draw(900) * 0.25);
    hit.method = random_methods[draw(ARRAY_COUNT(random_methods))];
    return hit;
}

static void assert_first(int64_t ordinal, const char *type, int64_t first_us)
{
    run_sql("create or replace function pg_temp.recorded_at() returns bigint language sql as $$ select coalesce((select"
            " (extract(epoch from occurred_at) * 1000000)::bigint from posthorn.recipient_events where ordinal = %lld"
            " and event_type = '%s'), 0) $$",
            (long long)ordinal, type);
    assert_int_equal(number_of("select pg_temp.recorded_at()"), first_us);
}

static void assert_equals_reference(const struct hit_rules *rules, const struct hit *hits, size_t count)
{
    int64_t humans = 0;
    for (int64_t ordinal = 1; ordinal <= RANDOM_RECIPIENTS; ordinal++) {
        int64_t opened_us = 0;
        int64_t clicked_us = 0;
        for (size_t i = 0; i < count; i++) {
            if (hits[i].ordinal != ordinal ||
                strcmp(hit_reference_actor(rules, hits, count, &hits[i], hits[i].at_us - begun_us), "human") != 0)
                continue;
            humans++;
            if (opened_us == 0 || hits[i].at_us < opened_us)
                opened_us = hits[i].at_us;
            if (hits[i].kind == HIT_CLICK && (clicked_us == 0 || hits[i].at_us < clicked_us))
                clicked_us = hits[i].at_us;
        }
        assert_first(ordinal, "opened", opened_us);
        assert_first(ordinal, "clicked", clicked_us);
    }
    assert_int_equal(number_of("select count(*) from hits where actor = 'human'"), humans);
}

static void random_round(void)
{
    struct hit hits[RANDOM_HITS];
    struct hit_rules changed = other_rules(hit_rules_built_in.version + 1);
    const struct hit_rules *rules = &hit_rules_built_in;
    for (size_t i = 0; i < RANDOM_HITS; i++) {
        hits[i] = random_hit();
        add(&hits[i], 1);
        if (i == RANDOM_HITS / 2 + (size_t)draw(RANDOM_HITS / 4))
            rules = &changed;
        if (draw(8) == 0)
            pass(rules, begun_us + draw(300) * US_PER_S, draw(3) == 0);
        if (draw(16) == 0)
            pass(rules, later_us, draw(3) == 0);
        if (draw(16) == 0)
            assert_figures_agree();
    }
    judge_all(rules);
    assert_figures_agree();
    assert_equals_reference(rules, hits, RANDOM_HITS);
    int64_t gradual = number_of(COUNTED);
    forget_judgements();
    judge_all(rules);
    assert_int_equal(number_of(COUNTED), gradual);
}

/* D-116, R-288: whatever the order of the hits, the passes between them and the cuts, the events are those of the definition. */
static void test_random_hits(void **state)
{
    const char *seed = getenv("POSTHORN_TEST_SEED");
    unsigned chosen = seed != NULL ? (unsigned)strtoul(seed, NULL, 10) : (unsigned)clock_now_us();
    print_message("seed %u\n", chosen);
    srandom(chosen);
    for (int round = 0; round < ROUNDS; round++) {
        random_round();
        world_leave(state);
        begin(state);
    }
}

/* ---- Storing ---- */

/* One recipient cannot fill the table; unknown recipients are not stored. */
static void test_hits_are_bounded(void **state)
{
    (void)state;
    struct hit hits[HITS_MAX_A_RECIPIENT];
    for (size_t i = 0; i < ARRAY_COUNT(hits); i++)
        hits[i] = hit_of(1, HIT_OPEN, HIT_LINK_OPEN, firefox, at_home, (double)i);
    add(hits, ARRAY_COUNT(hits));
    add_open(1, firefox, at_home, 5000);
    add_open(2, firefox, at_home, 5000);
    add_open(RECIPIENTS + 1, firefox, at_home, 5000);
    assert_int_equal(number_of("select count(*) from hits where ordinal = 1"), HITS_MAX_A_RECIPIENT);
    assert_int_equal(number_of("select count(*) from hits"), HITS_MAX_A_RECIPIENT + 1);
}

/* The address is truncated, and erased after a week; the classes stay. */
static void test_addresses_are_erased(void **state)
{
    (void)state;
    struct error err;
    add_open(1, firefox, "17.58.1.77", 1);
    add_open(2, firefox, "2001:db8:1:2::3", 1);
    add_open(3, firefox, NULL, 1);
    assert_int_equal(number_of("select count(*) from hits where address in ('17.58.1.0/24', '2001:db8:1::/48')"), 2);
    assert_ok(hits_tend(conn, arena, begun_us + INT64_C(7) * 86400 * US_PER_S, &err), &err);
    assert_int_equal(number_of("select count(*) from hits where address is not null"), 2);
    assert_ok(hits_tend(conn, arena, begun_us + INT64_C(8) * 86400 * US_PER_S, &err), &err);
    assert_int_equal(number_of("select count(*) from hits where address is not null"), 0);
    assert_int_equal(number_of("select count(*) from hits where network = 'apple'"), 1);
}

static struct db_conn *other_connection(void)
{
    struct db_conn *other;
    struct error err;
    assert_ok(installation_connect(installation, &other, &err), &err);
    return other;
}

/* A hit that is being stored while the job finds nothing left keeps the job, which is due when the hold ends. */
static void test_the_job_stays_while_hits_are_stored(void **state)
{
    (void)state;
    struct error err;
    DB_CONN_SCOPE other = other_connection();
    struct work storing = work;
    storing.conn = other;
    DB_TX tx;
    assert_true(pass(&hit_rules_built_in, begun_us, false).is_done);
    struct hit hit = hit_of(1, HIT_OPEN, HIT_LINK_OPEN, firefox, at_home, 60);
    struct db_batch *batch = db_batch_new(other, arena);
    assert_ok(db_tx_begin(other, &tx, &err), &err);
    hits_add(&storing, batch, &hit, 1);
    assert_ok(db_batch_run(batch, &err), &err);
    struct judge_left left = pass(&hit_rules_built_in, hit.at_us, false);
    assert_false(left.is_done);
    assert_int_equal(left.next_due_us, hit.at_us + (hit_rules_built_in.hold_s + HITS_LATE_S) * US_PER_S);
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_false(pass(&hit_rules_built_in, left.next_due_us, false).is_done);
    assert_true(pass(&hit_rules_built_in, left.next_due_us, false).is_done);
    assert_int_equal(number_of("select count(*) from recipient_events"), 1);
}

/* Until a job that ends is committed, no hit finds it running. */
static void test_no_hits_are_stored_while_the_job_ends(void **state)
{
    (void)state;
    struct error err;
    struct judge_left left;
    DB_CONN_SCOPE other = other_connection();
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(hits_judge(&work, &hit_rules_built_in, &left, &err), &err);
    assert_true(left.is_done);
    struct hit hit = hit_of(1, HIT_OPEN, HIT_LINK_OPEN, firefox, at_home, 60);
    struct work storing = work;
    storing.conn = other;
    struct db_batch *batch = db_batch_new(other, arena);
    assert_ok(db_script(other, "set lock_timeout = '1ms'", &err), &err);
    hits_add(&storing, batch, &hit, 1);
    assert_false(db_batch_run(batch, &err));
    assert_ok(db_tx_commit(&tx, &err), &err);
    batch = db_batch_new(other, arena);
    hits_add(&storing, batch, &hit, 1);
    assert_ok(db_batch_run(batch, &err), &err);
    assert_int_equal(number_of("select count(*) from hits"), 1);
}

/* A brand has one job, however many hits come, and none when all are judged. New rules wake it. */
static void test_one_job_judges(void **state)
{
    (void)state;
    struct error err;
    work.now_us = begun_us;
    add_crowd();
    assert_int_equal(number_of("select count(*) from jobs where kind = 'judge_hits' and state = 'queued'"), 1);
    run_until((struct job_services){ .outbox = outbox }, "select count(*) from jobs where state in ('queued', 'running')", 0);
    assert_int_equal(number_of("select opened * 100 + clicked from send_stats"), 403);
    assert_figures_agree();
    assert_ok(hits_tend(conn, arena, begun_us, &err), &err);
    assert_int_equal(number_of("select count(*) from jobs where state = 'queued'"), 0);
    run_sql("update hit_judgements set rules_version = 0");
    assert_ok(hits_tend(conn, arena, begun_us, &err), &err);
    assert_int_equal(number_of("select count(*) from jobs where state = 'queued'"), 1);
}

static int leave(void **state)
{
    hit_matchers_free(TAKE_PTR(work.engine->hit_matchers));
    return world_leave(state);
}

#define HITS_TEST(function) cmocka_unit_test_setup_teardown(function, begin, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HITS_TEST(test_classes),
        HITS_TEST(test_crowd),
        HITS_TEST(test_activity_is_of_persons),
        HITS_TEST(test_a_hit_is_held),
        HITS_TEST(test_a_clock_that_moves_over_the_hold),
        HITS_TEST(test_bounds),
        HITS_TEST(test_other_rules_judge_again),
        HITS_TEST(test_rules_of_the_operator_judge_again),
        HITS_TEST(test_rules_of_the_operator_are_checked),
        HITS_TEST(test_words_of_the_operator),
        HITS_TEST(test_ranges_of_the_operator),
        HITS_TEST(test_words_and_ranges_are_checked),
        HITS_TEST(test_events_outlive_their_hits),
        HITS_TEST(test_random_hits),
        HITS_TEST(test_hits_are_bounded),
        HITS_TEST(test_addresses_are_erased),
        HITS_TEST(test_one_job_judges),
        HITS_TEST(test_the_job_stays_while_hits_are_stored),
        HITS_TEST(test_no_hits_are_stored_while_the_job_ends),
    };
    return cmocka_run_group_tests_name("engine_judge_hits", tests, world_begin, world_end);
}
