/*
 * The delivery queue: the journal files that it keeps.
 */
#include "fixtures/temp_folder.h"
#include "sender/delivery_queue.h"

#include <string.h>
#include <unistd.h>

static char data[] = "/tmp/posthorn-test-XXXXXX";
static struct sender sender;

static int begin(void **state)
{
    (void)state;
    struct error err;
    strcpy(data + strlen(data) - 6, "XXXXXX");
    make_folder(data);
    sender = (struct sender){ .queue = NULL };
    pthread_mutex_init(&sender.mutex, NULL);
    struct journal_location location = { data, 4711 };
    assert_ok(journal_open(&location, "a", &sender.journal, &err), &err);
    return 0;
}

static int end(void **state)
{
    (void)state;
    while (sender.queue != NULL) {
        struct queue_item *item = sender.queue;
        sender.queue = item->next;
        arena_free(item->arena);
    }
    journal_remove(sender.journal);
    remove_folder(data);
    return 0;
}

static struct queued_batch *add_batch(int64_t send_id, size_t count)
{
    struct queued_batch *queued = queued_batch_new();
    struct delivery_recipients_row *recipients = arena_array(queued->item.arena, count, sizeof(*recipients));
    for (size_t i = 0; i < count; i++)
        recipients[i].ordinal = (int64_t)i + 1;
    queued->batch = (struct delivery_batch){
        .organization_id = 1,
        .brand_id = 1,
        .send_id = send_id,
        .from_ordinal = 1,
        .recipients = recipients,
        .results = arena_array(queued->item.arena, count, sizeof(*queued->batch.results)),
        .count = count,
    };
    queue_add_batch(&sender, queued);
    return queued;
}

static void send_dot(struct attempt *attempt)
{
    assert_true(journal_add_dot(sender.journal, &attempt->key, &attempt->mark));
}

static void decide(struct attempt *attempt, bool is_written)
{
    const struct delivery_result delivered = { .outcome = DELIVERY_DELIVERED, .is_settled = is_written };
    attempt_decide(&sender, attempt, &delivered);
}

static bool has_file(int64_t number)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/journal/a.%lld.journal", data, (long long)number);
    return access(path, F_OK) == 0;
}

/* One session waits for its reply while batches come and go: the journal stays small, and keeps the record of that session. */
static void test_a_lagging_session_keeps_no_old_file(void **state)
{
    (void)state;
    struct attempt *lagging = &add_batch(1, 2)->item.attempts[0];
    attempt_start(lagging);
    send_dot(lagging);
    while (journal_current_file(sender.journal) < JOURNAL_FILES_BEFORE_CARRY + 2) {
        struct queued_batch *other = add_batch(2, 500);
        for (size_t i = 0; i < 500; i++) {
            attempt_start(&other->item.attempts[i]);
            for (int again = 0; again < 20; again++)
                send_dot(&other->item.attempts[i]);
            decide(&other->item.attempts[i], true);
        }
        queue_remove(&sender, &other->item);
        arena_free(other->item.arena);
        assert_true(has_file(journal_mark_file(&lagging->mark)));
        assert_false(has_file(journal_current_file(sender.journal) - JOURNAL_FILES_BEFORE_CARRY));
    }
    assert_true(journal_mark_file(&lagging->mark) > 1);
}

/* A result that the database has not taken keeps its record. A written one keeps none. */
static void test_a_record_stays_until_its_result_is_written(void **state)
{
    (void)state;
    struct queued_batch *batch = add_batch(1, 2);
    for (size_t i = 0; i < 2; i++) {
        attempt_start(&batch->item.attempts[i]);
        send_dot(&batch->item.attempts[i]);
    }
    decide(&batch->item.attempts[0], false);
    decide(&batch->item.attempts[1], true);
    struct queued_batch *other = add_batch(2, 1);
    attempt_start(&other->item.attempts[0]);
    while (journal_current_file(sender.journal) == 1)
        send_dot(&other->item.attempts[0]);
    queue_trim_journal(&sender);
    assert_true(has_file(1));
    batch->batch.results[0].is_settled = true;
    queue_trim_journal(&sender);
    assert_false(has_file(1));
    assert_true(has_file(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_lagging_session_keeps_no_old_file, begin, end),
        cmocka_unit_test_setup_teardown(test_a_record_stays_until_its_result_is_written, begin, end),
    };
    return cmocka_run_group_tests_name("sender_delivery_queue", tests, NULL, NULL);
}
