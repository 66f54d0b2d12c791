/*
 * The delivery queue: the journal files that it keeps, and how it shares its
 * places among brands, destinations and urgent mail.
 */
#include "fixtures/temp_folder.h"
#include "sender/delivery_queue.h"

#include <string.h>
#include <sys/eventfd.h>
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
    sender.refill_fd = eventfd(0, EFD_NONBLOCK);
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
    close(sender.refill_fd);
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

static struct queued_batch *add_batch_of(int64_t brand_id, bool is_urgent)
{
    static int64_t sends;
    struct queued_batch *batch = queued_batch_new();
    batch->is_urgent = is_urgent;
    batch->batch = (struct delivery_batch){
        .organization_id = 1,
        .brand_id = brand_id,
        .send_id = ++sends,
        .from_ordinal = 1,
        .recipients = arena_array(batch->item.arena, 2, sizeof(struct delivery_recipients_row)),
        .results = arena_array(batch->item.arena, 2, sizeof(struct delivery_result)),
        .count = 2,
    };
    queue_add_batch(&sender, batch);
    return batch;
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
    attempt_start(&sender, lagging);
    send_dot(lagging);
    while (journal_current_file(sender.journal) < JOURNAL_FILES_BEFORE_CARRY + 2) {
        struct queued_batch *other = add_batch(2, 500);
        for (size_t i = 0; i < 500; i++) {
            attempt_start(&sender, &other->item.attempts[i]);
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
        attempt_start(&sender, &batch->item.attempts[i]);
        send_dot(&batch->item.attempts[i]);
    }
    decide(&batch->item.attempts[0], false);
    decide(&batch->item.attempts[1], true);
    struct queued_batch *other = add_batch(2, 1);
    attempt_start(&sender, &other->item.attempts[0]);
    while (journal_current_file(sender.journal) == 1)
        send_dot(&other->item.attempts[0]);
    queue_trim_journal(&sender);
    assert_true(has_file(1));
    batch->batch.results[0].is_settled = true;
    queue_trim_journal(&sender);
    assert_false(has_file(1));
    assert_true(has_file(2));
}

/* ---- Places ---- */

static bool has_item(struct int_list list, int64_t wanted)
{
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i] == wanted)
            return true;
    return false;
}

static bool has_room(int64_t brand_id, int64_t place)
{
    ARENA_SCOPE arena = arena_new(0);
    struct delivery_lease_request request = { .owner = "a" };
    queue_find_room(&sender, true, arena, &request);
    return has_item(request.places, place) && !has_item(request.full, brand_id * DELIVERY_PLACES + place);
}

static bool refill_is_woken(void)
{
    uint64_t count;
    return read(sender.refill_fd, &count, sizeof(count)) == (ssize_t)sizeof(count);
}

static void test_a_brand_leaves_room_for_others(void **state)
{
    (void)state;
    for (int i = 0; i < QUEUE_OF_BRAND_MAX; i++) {
        assert_true(has_room(1, DELIVERY_RELAYED));
        add_batch_of(1, false);
    }
    assert_false(has_room(1, DELIVERY_RELAYED));
    assert_true(has_room(2, DELIVERY_RELAYED));
    assert_true(has_room(1, DELIVERY_CAPTURED));
}

/* However many batches of marketing mail wait, urgent mail has places of its own, and leaves first. */
static void test_urgent_mail_has_its_own_places(void **state)
{
    (void)state;
    for (int i = 0; i < QUEUE_PLACES_MAX; i++)
        add_batch_of(i + 1, false);
    assert_false(has_room(9, DELIVERY_RELAYED));
    assert_true(has_room(9, DELIVERY_RELAYED | DELIVERY_URGENT));
    const struct queued_batch *urgent = add_batch_of(1, true);
    assert_ptr_equal(queue_first_batch(&sender), urgent);
    const struct queued_batch *second = add_batch_of(2, true);
    assert_ptr_equal(queue_next_batch(urgent), second);
    assert_false(has_room(9, DELIVERY_RELAYED | DELIVERY_URGENT));
}

/* Batches of a destination at its bound take no place. When many wait, a brand gets one. */
static void test_a_slow_destination_holds_up_nobody_else(void **state)
{
    (void)state;
    for (int brand = 1; brand <= QUEUE_CROWDED; brand++) {
        assert_true(has_room(brand, DELIVERY_RELAYED));
        struct queued_batch *batch = add_batch_of(brand, false);
        refill_is_woken();
        batch_set_blocked(&sender, batch, true);
        assert_true(refill_is_woken());
        batch_set_blocked(&sender, batch, true);
        assert_false(refill_is_woken());
    }
    assert_false(has_room(1, DELIVERY_RELAYED));
    assert_true(has_room(99, DELIVERY_RELAYED));
    for (int brand = QUEUE_CROWDED + 1; brand <= QUEUE_WAITING_MAX; brand++)
        batch_set_blocked(&sender, add_batch_of(brand, false), true);
    assert_false(has_room(99, DELIVERY_RELAYED));
}

/* The refill thread need not wait for its next look when a batch has no waiting attempt any more. */
static void test_the_last_start_wakes_the_refill(void **state)
{
    (void)state;
    struct queued_batch *batch = add_batch_of(1, false);
    attempt_start(&sender, &batch->item.attempts[0]);
    assert_false(refill_is_woken());
    attempt_start(&sender, &batch->item.attempts[1]);
    assert_true(refill_is_woken());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_lagging_session_keeps_no_old_file, begin, end),
        cmocka_unit_test_setup_teardown(test_a_record_stays_until_its_result_is_written, begin, end),
        cmocka_unit_test_setup_teardown(test_a_brand_leaves_room_for_others, begin, end),
        cmocka_unit_test_setup_teardown(test_urgent_mail_has_its_own_places, begin, end),
        cmocka_unit_test_setup_teardown(test_a_slow_destination_holds_up_nobody_else, begin, end),
        cmocka_unit_test_setup_teardown(test_the_last_start_wakes_the_refill, begin, end),
    };
    return cmocka_run_group_tests_name("sender_delivery_queue", tests, NULL, NULL);
}
