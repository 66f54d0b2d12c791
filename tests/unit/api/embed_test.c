/* Embedding API of include/posthorn.h, with the operations of the catalogue on a real database. */
#include "fixtures/api_fixture.h"

#include "posthorn.h"

#include <limits.h>

static struct posthorn *posthorn; /* one per test */

static int open_one(void **state)
{
    if (world_setup(state) != 0)
        return -1;
    struct posthorn_options options = {
        .struct_size = sizeof(options),
        .data_dir = folder,
        .database_url = cluster_url(arena, folder),
        .job_wait_ms = LLONG_MAX, /* for ever */
    };
    posthorn = posthorn_open(&options);
    return posthorn != NULL ? 0 : -1;
}

static int close_one(void **state)
{
    posthorn_close(posthorn);
    posthorn = NULL;
    return world_teardown(state);
}

static void reply_release(void *object)
{
    posthorn_reply_free(object);
}

/* A reply that lives as long as the test. */
static const struct posthorn_reply *made(struct posthorn_call call)
{
    if (call.struct_size == 0)
        call.struct_size = sizeof(call);
    struct posthorn_reply *reply = posthorn_call(posthorn, &call);
    assert_non_null(reply);
    assert_non_null(reply->body);
    assert_int_equal(strlen(reply->body), reply->body_bytes);
    arena_defer(arena, reply_release, reply);
    return reply;
}

static const json_t *body_of(const struct posthorn_reply *reply)
{
    json_t *json = json_in_arena(arena, json_loadb(reply->body, reply->body_bytes, JSON_DECODE_ANY, NULL));
    if (json == NULL)
        fail_msg("not JSON: %s", reply->body);
    return json;
}

static void assert_failed(const struct posthorn_reply *reply, int status, const char *code, const char *param)
{
    assert_int_equal(reply->ok, 0);
    assert_int_equal(reply->status, status);
    assert_int_equal(reply->credits, -1);
    const json_t *error = json_object_get(body_of(reply), "error");
    assert_string_equal(json_get_text(error, "code"), code);
    const char *found = json_get_text(error, "param");
    assert_string_equal(found != NULL ? found : "", param);
}

static int64_t contacts(void)
{
    return number_of("select count(*) from contacts");
}

/* ---- Opening ---- */

static void test_options_that_cannot_be_understood(void **state)
{
    (void)state;
    struct posthorn_options options = { .struct_size = sizeof(options), .data_dir = folder };
    assert_null(posthorn_open(NULL));
    options.struct_size = sizeof(options) - 1;
    assert_null(posthorn_open(&options));
    options.struct_size = 0;
    assert_null(posthorn_open(&options));
    options.struct_size = sizeof(options) + 8;
    assert_null(posthorn_open(&options));
    options.struct_size = sizeof(options);
    options.data_dir = NULL;
    assert_null(posthorn_open(&options));
    posthorn_close(NULL);
    posthorn_reply_free(NULL);
    posthorn_cancel(NULL, "x");
    posthorn_cancel(posthorn, NULL);
    posthorn_cancel(posthorn, "nobody");
}

/* Opening costs nothing and keeps its own copies of the options. */
static void test_opening_touches_nothing(void **state)
{
    (void)state;
    char place[] = "/tmp/posthorn-there-is-nothing-here";
    char brand[] = "brd_x";
    struct posthorn_options options = { .struct_size = sizeof(options), .data_dir = place, .brand_id = brand };
    struct posthorn *other = posthorn_open(&options);
    assert_non_null(other);
    memset(place, 'x', sizeof(place) - 1);
    memset(brand, 'x', sizeof(brand) - 1);
    struct posthorn_call call = { .struct_size = sizeof(call), .name = "health.read" };
    struct posthorn_reply *reply = posthorn_call(other, &call);
    assert_int_equal(reply->status, 200);
    posthorn_reply_free(reply);
    posthorn_close(other);
    assert_int_not_equal(access("/tmp/posthorn-there-is-nothing-here", F_OK), 0);
}

/* ---- Calls ---- */

static void test_operations_and_tools(void **state)
{
    (void)state;
    const struct posthorn_reply *reply =
        made((struct posthorn_call){ .name = "contacts.save", .arguments = "{\"email\":\"ada@example.com\"}" });
    assert_int_equal(reply->status, 201);
    assert_int_equal(reply->ok, 1);
    assert_int_equal(reply->replayed, 0);
    assert_int_equal(reply->credits, -1);
    assert_string_equal(json_get_text(body_of(reply), "email"), "ada@example.com");
    /* A tool is the same work. */
    reply = made(
        (struct posthorn_call){ .name = "save_contact", .arguments = "{\"email\":\"ada@example.com\",\"firstName\":\"Ada\"}" });
    assert_int_equal(reply->status, 200);
    assert_int_equal(contacts(), 1);
    assert_int_equal(number_of("select count(*) from audit_log where door = 'embedded' and operation = 'contacts.save'"), 2);
    /* Its arguments are coerced as a tool's are. */
    reply = made((struct posthorn_call){ .name = "contacts.search", .arguments = "{\"limit\":\"5\"}" });
    assert_int_equal(json_get_int(json_object_get(body_of(reply), "pagination"), "limit", 0), 5);
}

/* A tool without arguments has its defaults all the same; an operation has its own. */
static void test_no_arguments(void **state)
{
    (void)state;
    const struct posthorn_reply *tool = made((struct posthorn_call){ .name = "list_emails" });
    const struct posthorn_reply *empty = made((struct posthorn_call){ .name = "list_emails", .arguments = "{}" });
    const struct posthorn_reply *operation = made((struct posthorn_call){ .name = "emails.list" });
    assert_string_equal(tool->body, empty->body);
    assert_int_equal(json_get_int(json_object_get(body_of(tool), "pagination"), "limit", 0), 10);
    assert_int_equal(json_get_int(json_object_get(body_of(operation), "pagination"), "limit", 0), 100);
}

static void test_calls_that_are_refused(void **state)
{
    (void)state;
    struct posthorn_reply *reply = posthorn_call(posthorn, NULL);
    assert_int_equal(reply->status, 400);
    posthorn_reply_free(reply);
    assert_failed(made((struct posthorn_call){ .struct_size = 5, .name = "health.read" }), 400, "INVALID_REQUEST", "name");
    assert_failed(made((struct posthorn_call){ .name = NULL }), 400, "INVALID_REQUEST", "name");
    assert_failed(made((struct posthorn_call){ .name = "" }), 404, "NOT_FOUND", "name");
    assert_failed(made((struct posthorn_call){ .name = "contacts.nothing" }), 404, "NOT_FOUND", "name");
    assert_failed(made((struct posthorn_call){ .name = "contacts.search", .arguments = "{" }), 400, "INVALID_REQUEST", "");
    assert_failed(made((struct posthorn_call){ .name = "contacts.search", .arguments = "" }), 400, "INVALID_REQUEST", "");
    assert_failed(made((struct posthorn_call){ .name = "contacts.search", .arguments = "[]" }), 400, "INVALID_REQUEST", "");
    assert_failed(made((struct posthorn_call){ .name = "search_contacts", .arguments = "[]" }), 400, "INVALID_REQUEST", "");
    assert_failed(made((struct posthorn_call){ .name = "contacts.search", .arguments = "{\"limt\":1}" }), 400, "INVALID_REQUEST",
                  "limt");
    assert_failed(made((struct posthorn_call){ .name = "search_contacts", .arguments = "{\"limt\":1}" }), 400, "INVALID_REQUEST",
                  "limt");
    assert_failed(made((struct posthorn_call){ .name = "content.generate", .arguments = "{\"prompt\":\"A tulip\"}" }), 501,
                  "NOT_IMPLEMENTED", "");
    assert_failed(made((struct posthorn_call){ .name = "emails.audit" }), 400, "INVALID_REQUEST", "emailId");
    /* A name in other letters is cut between its characters. */
    char name[300] = "";
    for (size_t i = 0; i + 3 < sizeof(name); i += 2)
        memcpy(name + i, "\xc3\xa9", 3);
    assert_failed(made((struct posthorn_call){ .name = arena_printf(arena, "x%s", name) }), 404, "NOT_FOUND", "name");
    assert_int_equal(contacts(), 0);
}

static void test_credentials_and_brands(void **state)
{
    (void)state;
    assert_int_equal(made((struct posthorn_call){ .name = "contacts.search" })->status, 200);
    open_service();
    int64_t second = brand_new(1);
    const char *bound = key_new(1, second, SCOPE_CONTACTS, 1);
    const char *wide = key_new(1, 0, SCOPE_ALL, 1);
    assert_failed(made((struct posthorn_call){ .name = "contacts.search", .api_key = "ph_wrong" }), 401, "INVALID_API_KEY", "");
    assert_failed(made((struct posthorn_call){ .name = "contacts.search", .api_key = wide }), 400, "BRAND_ID_REQUIRED", "");
    assert_failed(made((struct posthorn_call){ .name = "emails.list", .api_key = bound }), 403, "INSUFFICIENT_PERMISSIONS",
                  "emails");
    const char *wire_id = brand_wire_id(second);
    assert_int_equal(
        made((struct posthorn_call){ .name = "contacts.save", .api_key = bound, .arguments = "{\"email\":\"b@example.com\"}" })
            ->status,
        201);
    assert_int_equal(
        made((struct posthorn_call){
                 .name = "contacts.save", .api_key = wide, .brand_id = wire_id, .arguments = "{\"email\":\"c@example.com\"}" })
            ->status,
        201);
    assert_int_equal(
        made((struct posthorn_call){ .name = "contacts.save", .brand_id = wire_id, .arguments = "{\"email\":\"d@example.com\"}" })
            ->status,
        201);
    assert_int_equal(number_of(arena_printf(arena, "select count(*) from contacts where brand_id = %lld", (long long)second)), 3);
}

/* The brand of the options is the local owner's, unless a call names another. */
static void test_the_brand_of_the_options(void **state)
{
    (void)state;
    open_service();
    int64_t second = brand_new(1);
    struct posthorn_options options = { .struct_size = sizeof(options),
                                        .data_dir = folder,
                                        .database_url = cluster_url(arena, folder),
                                        .brand_id = brand_wire_id(second) };
    posthorn_close(posthorn);
    posthorn = posthorn_open(&options);
    struct posthorn_call call = { .name = "contacts.save", .arguments = "{\"email\":\"a@example.com\"}" };
    assert_int_equal(made(call)->status, 201);
    assert_int_equal(number_of("select brand_id from contacts"), second);
    call.brand_id = brand_wire_id(1);
    assert_int_equal(made(call)->status, 201);
    assert_int_equal(number_of("select count(*) from contacts where brand_id = 1"), 1);
    /* A key's brand is the key's business. */
    call.brand_id = NULL;
    call.api_key = key_new(1, 1, SCOPE_CONTACTS, 1);
    assert_int_equal(made(call)->status, 200);
}

/* */
static void test_idempotency(void **state)
{
    (void)state;
    struct posthorn_call call = { .name = "contacts.save", .arguments = "{\"email\":\"ada@example.com\"}", .idempotency_key = "k" };
    const struct posthorn_reply *first = made(call);
    assert_int_equal(first->status, 201);
    const struct posthorn_reply *again = made(call);
    assert_int_equal(again->status, 201);
    assert_int_equal(again->replayed, 1);
    assert_string_equal(again->body, first->body);
    call.arguments = "{\"email\":\"bob@example.com\"}";
    assert_failed(made(call), 409, "IDEMPOTENCY_CONFLICT", "");
    char longer[102];
    memset(longer, 'k', 101);
    longer[101] = '\0';
    call.idempotency_key = longer;
    assert_failed(made(call), 400, "INVALID_REQUEST", "idempotencyKey");
    assert_int_equal(contacts(), 1);
}

/* ---- Calls on threads ---- */

struct calling {
    pthread_t thread;
    struct posthorn_call call;
    struct posthorn_reply *reply;
};

static void *call_once(void *data)
{
    struct calling *caller = data;
    caller->reply = posthorn_call(posthorn, &caller->call);
    return NULL;
}

static void begin_call(struct calling *caller, struct posthorn_call call)
{
    call.struct_size = sizeof(call);
    *caller = (struct calling){ .call = call };
    assert_int_equal(pthread_create(&caller->thread, NULL, call_once, caller), 0);
}

static const struct posthorn_reply *join(struct calling *caller)
{
    pthread_join(caller->thread, NULL);
    assert_non_null(caller->reply);
    arena_defer(arena, reply_release, caller->reply);
    return caller->reply;
}

static const char lock_waits[] = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";

/* Another connection that keeps every write of contacts waiting. */
static struct db_conn *lock_contacts(void)
{
    struct error err;
    struct db_conn *locker = NULL;
    assert_ok(db_connect(db, 1000, &locker, &err), &err);
    assert_ok(db_script(locker, "begin; lock table contacts in access exclusive mode", &err), &err);
    return locker;
}

static void unlock(struct db_conn *locker)
{
    db_disconnect(locker);
}

static struct posthorn_call saving(const char *email, const char *token)
{
    return (struct posthorn_call){ .name = "contacts.save",
                                   .arguments = arena_printf(arena, "{\"email\":\"%s\"}", email),
                                   .token = token };
}

static void test_cancelling_by_token(void **state)
{
    (void)state;
    made((struct posthorn_call){ .name = "contacts.search" });
    struct db_conn *locker = lock_contacts();
    struct calling first;
    struct calling twin;
    struct calling other;
    struct calling unnamed;
    begin_call(&first, saving("a@example.com", "mine"));
    begin_call(&twin, saving("b@example.com", "mine"));
    begin_call(&other, saving("c@example.com", "other"));
    begin_call(&unnamed, saving("d@example.com", NULL));
    await_number(lock_waits, 4);
    posthorn_cancel(posthorn, "nobody");
    posthorn_cancel(posthorn, "mine");
    assert_failed(join(&first), 503, "SERVICE_UNAVAILABLE", "");
    assert_failed(join(&twin), 503, "SERVICE_UNAVAILABLE", "");
    await_number(lock_waits, 2);
    unlock(locker);
    assert_int_equal(join(&other)->status, 201);
    assert_int_equal(join(&unnamed)->status, 201);
    assert_int_equal(contacts(), 2);
}

struct watcher {
    pthread_mutex_t lock;
    int count;
    double last;
    char note[32];
};

static void note_progress(void *context, double done, double total, const char *message)
{
    struct watcher *watcher = context;
    pthread_mutex_lock(&watcher->lock);
    watcher->count++;
    watcher->last = done / total;
    snprintf(watcher->note, sizeof(watcher->note), "%s", message != NULL ? message : "");
    pthread_mutex_unlock(&watcher->lock);
}

/* A call of mode job: its progress comes on another thread, and cancelling asks the job to stop. */
static void test_jobs(void **state)
{
    (void)state;
    struct watcher watcher = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct calling caller;
    begin_call(&caller, (struct posthorn_call){ .name = "emails.import",
                                                .arguments = "{\"content\":\"<p>x</p>\"}",
                                                .token = "import",
                                                .progress = note_progress,
                                                .context = &watcher });
    await_number("select count(*) from jobs where state = 'queued'", 1);
    run_sql("update jobs set state = 'running', progress = 1, progress_total = 4, progress_note = 'reading';"
            "select pg_notify('posthorn_jobs', '')");
    for (int i = 0; i < 10000; i++) {
        pthread_mutex_lock(&watcher.lock);
        int count = watcher.count;
        pthread_mutex_unlock(&watcher.lock);
        if (count > 0)
            break;
        usleep(5000);
    }
    posthorn_cancel(posthorn, "import");
    assert_failed(join(&caller), 503, "SERVICE_UNAVAILABLE", "");
    assert_int_equal(watcher.count, 1);
    assert_true(watcher.last == 0.25);
    assert_string_equal(watcher.note, "reading");
    assert_int_equal(number_of("select count(*) from jobs where cancel_asked"), 1);
}

enum { CALLERS = 6, EACH = 15 };

static void *call_often(void *data)
{
    int *wrong = data;
    for (int i = 0; i < EACH; i++) {
        struct posthorn_call call = { .struct_size = sizeof(call),
                                      .name = i % 2 == 0 ? "search_contacts" : "contacts.save",
                                      .arguments = i % 2 == 0 ? NULL : "{\"email\":\"x@example.com\"}",
                                      .token = "t" };
        struct posthorn_reply *reply = posthorn_call(posthorn, &call);
        *wrong += reply->status != 200 && reply->status != 201 && reply->status != 503;
        posthorn_reply_free(reply);
    }
    return NULL;
}

/* From the first call on, and while calls are cancelled at any moment of theirs. */
static void test_many_threads(void **state)
{
    (void)state;
    pthread_t threads[CALLERS];
    int wrong[CALLERS] = { 0 };
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &wrong[i]), 0);
    for (int i = 0; i < 100; i++) {
        posthorn_cancel(posthorn, "t");
        usleep(3000);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
    /* All calls of the threads may have been cancelled. */
    const struct posthorn_reply *last = made(saving("x@example.com", NULL));
    assert_true(last->status == 200 || last->status == 201);
    assert_int_equal(contacts(), 1);
}

/* ---- Closing ---- */

static void *unlock_later(void *locker)
{
    usleep(400000);
    unlock(locker);
    return NULL;
}

static void test_closing_waits_for_calls(void **state)
{
    (void)state;
    made((struct posthorn_call){ .name = "contacts.search" });
    struct db_conn *locker = lock_contacts();
    struct calling callers[3];
    for (int i = 0; i < 3; i++)
        begin_call(&callers[i], saving(arena_printf(arena, "%d@example.com", i), NULL));
    await_number(lock_waits, 3);
    pthread_t unlocker;
    assert_int_equal(pthread_create(&unlocker, NULL, unlock_later, locker), 0);
    posthorn_close(posthorn);
    posthorn = NULL;
    pthread_join(unlocker, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(join(&callers[i])->status, 201);
    assert_int_equal(contacts(), 3);
}

/* Not for ever: what does not end by itself is stopped. */
static void test_closing_stops_what_does_not_end(void **state)
{
    (void)state;
    made((struct posthorn_call){ .name = "contacts.search" });
    struct db_conn *locker = lock_contacts();
    struct calling caller;
    begin_call(&caller, saving("a@example.com", NULL));
    await_number(lock_waits, 1);
    int64_t start_us = clock_monotonic_us();
    posthorn_close(posthorn);
    posthorn = NULL;
    assert_true(clock_monotonic_us() - start_us > 9 * US_PER_S);
    assert_failed(join(&caller), 503, "SERVICE_UNAVAILABLE", "");
    unlock(locker);
    assert_int_equal(contacts(), 0);
}

#define EMBED_TEST(function) cmocka_unit_test_setup_teardown(function, open_one, close_one)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBED_TEST(test_options_that_cannot_be_understood),
        EMBED_TEST(test_opening_touches_nothing),
        EMBED_TEST(test_operations_and_tools),
        EMBED_TEST(test_no_arguments),
        EMBED_TEST(test_calls_that_are_refused),
        EMBED_TEST(test_credentials_and_brands),
        EMBED_TEST(test_the_brand_of_the_options),
        EMBED_TEST(test_idempotency),
        EMBED_TEST(test_cancelling_by_token),
        EMBED_TEST(test_jobs),
        EMBED_TEST(test_many_threads),
        EMBED_TEST(test_closing_waits_for_calls),
        EMBED_TEST(test_closing_stops_what_does_not_end),
    };
    return cmocka_run_group_tests_name("api: embedding", tests, world_begin, group_teardown);
}
