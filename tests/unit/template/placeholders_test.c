/*
 * Placeholders: the values of template paths for a recipient, the types of custom
 * fields, the lookup of bare names, and whole objects.
 */
#include "base/json_read.h"
#include "engine/compose/merge_fields.h"
#include "template/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct evaluation {
    const struct merge_field *slots;
    const struct merge_values *values;
};

static void look_up(const void *context, size_t index, const char *path, struct template_value *value)
{
    (void)path;
    const struct evaluation *evaluation = context;
    *value = merge_value(&evaluation->slots[index], evaluation->values);
}

static const json_t *parse(struct arena *arena, const char *text)
{
    struct error err;
    const json_t *json = NULL;
    if (text != NULL)
        assert_true(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 4096 }, &json, &err));
    return json;
}

/* A field as the database gives it; "" are all of them. */
static const char *field_of(const char *name)
{
    static const char *const fields[][2] = {
        { "plan", "sPro" },      { "vip", "bfalse" },      { "visits", "n12" },
        { "score", "n2.5" },     { "tags", "j[\"x\",2]" }, { "", "j{\"plan\":\"Pro\",\"visits\":12,\"email\":\"forged\"}" },
        { "broken", "j{\"a\"" },
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (strcmp(fields[i][0], name) == 0)
            return fields[i][1];
    return NULL;
}

static void assert_shows(const char *source, const char *payload, const char *expected)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct bytes blob;
    struct template template;
    struct merge_custom_fields fields = { .count = 0 };
    assert_true(template_compile(arena, TEMPLATE_TEXT, source, strlen(source), &blob, &err));
    assert_true(template_load(blob, &template, &err));
    struct merge_field *slots = merge_fields_resolve(arena, &template, &fields);
    const char **texts = arena_array(arena, fields.count + 1, sizeof(*texts));
    for (size_t i = 0; i < fields.count; i++)
        texts[i] = field_of(fields.names[i]);
    const struct merge_values values = {
        .arena = arena,
        .email = "ada@example.com",
        .first_name = "Ada",
        .unsubscribe_url = "https://e.example/u",
        .fields = { texts, fields.count },
        .parsed = arena_array(arena, fields.count + 1, sizeof(json_t *)),
        .brand =
            parse(arena, "{\"name\": \"Harbour\", \"locale\": \"de\", \"timeZone\": \"Europe/Vienna\", \"address\": \"Quay 1\"}"),
        .payload = parse(arena, payload),
    };
    struct evaluation evaluation = { slots, &values };
    const struct template_setting setting = merge_fields_setting(arena, values.brand, INT64_C(1714557600) * 1000 * 1000);
    struct buf *out = buf_in_arena(arena, 4096);
    assert_true(template_evaluate(&template, (struct template_lookup){ look_up, &evaluation, &setting, NULL }, arena, out, &err));
    assert_string_equal(buf_text(out), expected);
}

static void test_fields_keep_their_types(void **state)
{
    (void)state;
    assert_shows("{% if vip %}yes{% else %}no{% endif %} {{ visits | plus: 1 }} {{ score | times: 2 }} {{ plan }}", NULL,
                 "no 13 5 Pro");
    assert_shows("{% if customFields.visits > 9 %}many{% endif %} {{ contact.customFields.plan }} {{ contact.plan }}", NULL,
                 "many Pro Pro");
    assert_shows("{{ tags | join: '+' }} {{ tags[1] }} {{ contact['plan'] }} {{ contact.tags.size }}", NULL, "x+2 2 Pro 2");
    assert_shows("{{ nothing | default: 'none' }}{{ broken }}{{ lastName | default: '-' }}{{ contact[0] }}", NULL, "none-");
}

static void test_bare_names_are_of_the_payload_first(void **state)
{
    (void)state;
    assert_shows("{{ plan }} {{ firstName }} {{ payload.plan }}", "{\"plan\": \"Basic\"}", "Basic Ada Basic");
    assert_shows("{{ contact.plan }} {{ order.id }} {{ order.items[0].name }}",
                 "{\"order\": {\"id\": 7, \"items\": [{\"name\": \"Tea\"}]}}", "Pro 7 Tea");
    /* A member that is null is there: it says that there is no value. */
    assert_shows("[{{ plan }}]", "{\"plan\": null}", "[]");
    /* The payload cannot replace the roots. */
    assert_shows("{{ unsubscribeUrl }} {{ brand.name }} {{ contact.email }}",
                 "{\"unsubscribeUrl\": \"x\", \"brand\": {\"name\": \"x\"}, \"contact\": {\"email\": \"x\"}}",
                 "https://e.example/u Harbour ada@example.com");
}

static void test_whole_objects(void **state)
{
    (void)state;
    assert_shows("{% assign which = 'plan' %}{{ contact[which] }} {% assign which = 'email' %}{{ contact[which] }}", NULL,
                 "Pro ada@example.com");
    assert_shows("{% for f in customFields %}{{ f[0] }}={{ f[1] }};{% endfor %}", NULL, "plan=Pro;visits=12;email=forged;");
    assert_shows("{% assign all = customFields %}{{ all.size }}{{ contact }}", NULL, "3");
}

static void test_brand_sets_dates_and_money(void **state)
{
    (void)state;
    assert_shows("{{ 1234.5 | money }} {{ 'now' | date: '%H:%M %z' }} {{ brand.address }}", NULL,
                 "1.234,50\u00A0€ 12:00 +0200 Quay 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_keep_their_types),
        cmocka_unit_test(test_bare_names_are_of_the_payload_first),
        cmocka_unit_test(test_whole_objects),
        cmocka_unit_test(test_brand_sets_dates_and_money),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
