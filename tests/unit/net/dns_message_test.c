/* DNS messages from the network: their records, and the bounds of their names. */
#include "fixtures/own_fail.h"

#include "base/arena.h"
#include "base/buf.h"
#include "net/dns_message.h"

#include <arpa/nameser.h>

enum { QUESTION_AT = NS_HFIXEDSZ, LABEL_OCTETS = 62 };

static struct arena *arena;

static int start(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

/* ---- Writing messages ---- */

static void add_u16(struct buf *message, unsigned value)
{
    buf_add_char(message, (char)(value >> 8));
    buf_add_char(message, (char)(value & 0xFF));
}

static void add_label(struct buf *message, size_t octets)
{
    buf_add_char(message, (char)octets);
    for (size_t i = 0; i < octets; i++)
        buf_add_char(message, 'n');
}

static void add_pointer(struct buf *message, size_t target)
{
    add_u16(message, 0xC000U | (unsigned)target);
}

/* One question, with a name of `labels` labels and one of `more` octets, if any. */
static struct buf *question(size_t labels, size_t more, unsigned answers)
{
    struct buf *message = buf_in_arena(arena, 4096);
    const unsigned counts[] = { 1, 0x8180, 1, answers, 0, 0 };
    for (size_t i = 0; i < ARRAY_COUNT(counts); i++)
        add_u16(message, counts[i]);
    for (size_t i = 0; i < labels; i++)
        add_label(message, LABEL_OCTETS);
    if (more > 0)
        add_label(message, more);
    buf_add_char(message, '\0');
    add_u16(message, ns_t_mx);
    add_u16(message, ns_c_in);
    return message;
}

/* The fixed fields of a record, behind its name. */
static void add_fields(struct buf *message, unsigned type, unsigned ttl_s, unsigned data_size)
{
    add_u16(message, type);
    add_u16(message, ns_c_in);
    add_u16(message, ttl_s >> 16);
    add_u16(message, ttl_s & 0xFFFF);
    add_u16(message, data_size);
}

static bool is_valid(const struct buf *message)
{
    return dns_message_is_valid((const unsigned char *)message->data, (int)message->size);
}

/* ---- Records ---- */

static void records_are_read(void **state)
{
    (void)state;
    struct buf *text = question(1, 0, 2);
    add_pointer(text, QUESTION_AT);
    add_fields(text, ns_t_mx, 70000, 4);
    size_t name_at = text->size + NS_INT16SZ;
    add_u16(text, 10);
    add_pointer(text, QUESTION_AT);
    add_pointer(text, QUESTION_AT);
    add_fields(text, ns_t_txt, 5, 1);
    buf_add_char(text, '\0');

    struct dns_message message;
    struct dns_record record;
    assert_true(dns_message_begin((const unsigned char *)text->data, (int)text->size, &message));
    assert_true(dns_message_next(&message, &record));
    assert_int_equal(record.type, ns_t_mx);
    assert_int_equal(record.ttl_s, 70000);
    assert_int_equal(record.name_at, name_at);
    assert_true(dns_message_next(&message, &record));
    assert_int_equal(record.type, ns_t_txt);
    assert_int_equal(record.ttl_s, 5);
    assert_false(dns_message_next(&message, &record));
    assert_false(dns_message_next(&message, &record));
    for (int size = 0; size < (int)text->size; size++)
        assert_false(dns_message_is_valid((const unsigned char *)text->data, size));
}

/* ---- Names: a_dns_name_has_255_octets ---- */

static void names_are_bounded(void **state)
{
    (void)state;
    assert_true(is_valid(question(4, 1, 0))); /* 4 * 63 + 2 + 1 */
    assert_false(is_valid(question(4, 2, 0)));
}

/* A name whose labels are partly behind a pointer has the same bound. */
static void names_with_pointers_are_bounded(void **state)
{
    (void)state;
    for (size_t octets = 1; octets <= 2; octets++) {
        struct buf *owner = question(4, 0, 1); /* 4 * 63 + 1 */
        add_label(owner, octets);
        add_pointer(owner, QUESTION_AT);
        add_fields(owner, ns_t_txt, 0, 0);
        assert_int_equal(is_valid(owner), octets == 1);

        struct buf *host = question(4, 0, 1);
        add_pointer(host, QUESTION_AT);
        add_fields(host, ns_t_mx, 0, (unsigned)(NS_INT16SZ + 1 + octets + NS_INT16SZ));
        add_u16(host, 10);
        add_label(host, octets);
        add_pointer(host, QUESTION_AT);
        assert_int_equal(is_valid(host), octets == 1);
    }
}

static void pointers_lead_back(void **state)
{
    (void)state;
    for (size_t further = 0; further <= 3; further++) {
        struct buf *message = question(1, 0, 1);
        add_pointer(message, message->size + further);
        add_fields(message, ns_t_txt, 0, 0);
        assert_false(is_valid(message));
    }
    struct buf *behind = question(1, 0, 1);
    add_pointer(behind, 0x3FFF);
    add_fields(behind, ns_t_txt, 0, 0);
    assert_false(is_valid(behind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_are_read, start, stop),
        cmocka_unit_test_setup_teardown(names_are_bounded, start, stop),
        cmocka_unit_test_setup_teardown(names_with_pointers_are_bounded, start, stop),
        cmocka_unit_test_setup_teardown(pointers_lead_back, start, stop),
    };
    return cmocka_run_group_tests_name("net/dns_message", tests, NULL, NULL);
}
