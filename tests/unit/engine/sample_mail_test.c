/* Sample mail: whose values it shows, its links, and the tags that contacts have no values for. */
#include "fixtures/engine_fixture.h"

#include "base/text.h"
#include "engine/samples/sample_mail.h"

static const char html[] = "<!DOCTYPE html><html><head><title>T</title></head><body>"
                           "<p>Hello {{ firstName }} from {{ customFields.city }}</p>"
                           "<a href=\"https://shop.example/a\">Shop</a></body></html>";
static const char text[] = "Hello {{ firstName }} from {{ customFields.city }}\n";

static void make_contact(const char *email, const char *first_name, const char *fields, bool subscribed)
{
    run_sql(
        "insert into contacts (brand_id, email, email_key, first_name, source, subscribed, custom_fields, created_at, updated_at)"
        "values (%lld, '%s', '%s', %s, 'API', %s, '%s', now(), now())",
        (long long)work.brand_id, email, email, first_name, subscribed ? "true" : "false", fields);
}

static struct sample_mail sample_of(struct sample_mail_request request)
{
    struct error err = { .code = ERR_NONE };
    struct sample_mail mail;
    assert_ok(sample_mail_compose(&work, &request, &mail, &err), &err);
    return mail;
}

static void test_the_oldest_subscribed_contact_is_shown(void **state)
{
    (void)state;
    make_contact("left@example.com", "'Eve'", "{}", false);
    make_contact("first@example.com", "'Bob'", "{\"city\": \"Ulm\"}", true);
    make_contact("second@example.com", "null", "{}", true);
    struct sample_mail mail =
        sample_of((struct sample_mail_request){ .email_id = design_of(html, text), .counts_empty_values = true });
    assert_string_equal(mail.recipient, "first@example.com");
    assert_non_null(strstr(mail.html, "Hello Bob from Ulm"));
    assert_non_null(strstr(mail.design_html, "{{ firstName }}"));
    assert_true(mail.message.size > strlen(mail.html));
    assert_int_equal(mail.empty_value_count, 2);
    assert_string_equal(mail.empty_values[0].path, "firstName");
    assert_int_equal(mail.empty_values[0].contacts, 2);
    assert_int_equal(mail.empty_values[0].empty, 1);
    assert_string_equal(mail.empty_values[1].path, "city");
}

static void test_strangers_see_no_contact(void **state)
{
    (void)state;
    make_contact("first@example.com", "'Bob'", "{\"city\": \"Ulm\"}", true);
    struct sample_mail mail =
        sample_of((struct sample_mail_request){ .email_id = design_of(html, text), .has_invented_contact = true });
    assert_string_equal(mail.recipient, "ada@example.com");
    assert_non_null(strstr(mail.html, "Hello Ada from "));
    assert_null(strstr(mail.html, "Ulm"));
}

static void test_a_brand_without_contacts_has_an_invented_one(void **state)
{
    (void)state;
    struct sample_mail mail = sample_of((struct sample_mail_request){ .email_id = design_of(html, text) });
    assert_string_equal(mail.recipient, "ada@example.com");
    assert_non_null(strstr(mail.html, "Hello Ada from "));
    assert_true(mail.is_sandbox);
    assert_int_equal(mail.empty_value_count, 0);
}

static void test_marketing_mail_has_a_footer_and_other_mail_none(void **state)
{
    (void)state;
    int64_t email_id = design_of(html, text);
    struct sample_mail marketing = sample_of((struct sample_mail_request){ .email_id = email_id, .is_marketing = true });
    struct sample_mail other = sample_of((struct sample_mail_request){ .email_id = email_id, .is_transactional = true });
    assert_non_null(strstr(marketing.html, "/u/"));
    assert_null(strstr(other.html, "/u/"));
    assert_true(marketing.is_marketing);
    assert_false(other.is_marketing);
}

static void test_tracked_links_are_in_a_text_of_their_own(void **state)
{
    (void)state;
    const char *before = work.engine->public_url;
    work.engine->public_url = "https://mail.example/ph";
    struct sample_mail mail = sample_of((struct sample_mail_request){ .email_id = design_of(html, text) });
    work.engine->public_url = before;
    assert_non_null(strstr(mail.html, "href=\"https://shop.example/a\""));
    assert_null(strstr(mail.tracked_html, "href=\"https://shop.example/a\""));
    assert_non_null(strstr(mail.tracked_html, "https://mail.example/ph/c/"));
    assert_non_null(strstr(mail.tracked_html, "https://mail.example/ph/o/"));
}

static void test_missing_designs_are_told(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct sample_mail mail;
    const struct sample_mail_request unknown = { .email_id = 999999 };
    assert_false(sample_mail_compose(&work, &unknown, &mail, &err));
    assert_int_equal(err.code, ERR_EMAIL_NOT_FOUND);
    error_clear(&err);
    const struct sample_mail_request other = { .email_id = design_of(html, text), .version_id = 999999 };
    assert_false(sample_mail_compose(&work, &other, &mail, &err));
    assert_int_equal(err.code, ERR_EMAIL_VERSION_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_oldest_subscribed_contact_is_shown),       TEST(test_strangers_see_no_contact),
        TEST(test_a_brand_without_contacts_has_an_invented_one), TEST(test_marketing_mail_has_a_footer_and_other_mail_none),
        TEST(test_tracked_links_are_in_a_text_of_their_own),     TEST(test_missing_designs_are_told),
    };
    return cmocka_run_group_tests_name("engine_sample_mail", tests, world_begin, world_end);
}
