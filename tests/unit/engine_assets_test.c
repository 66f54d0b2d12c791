/* What a brand hosts, as rows: noted once, counted, and bounded. */
#include "engine_world.h"

#include "engine/assets/assets.h"

static struct asset asset_of(const char *bytes_text, int64_t bytes)
{
    struct asset asset = { .type = ASSET_PNG, .bytes = bytes, .width = 3, .height = 2, .frames = 1 };
    sha256(bytes_text, strlen(bytes_text), asset.hash);
    return asset;
}

static struct asset_room room_left(void)
{
    struct error err;
    struct asset_room room;
    assert_ok(asset_room_left(&work, &room, &err), &err);
    return room;
}

static void test_a_brand_notes_an_image_once(void **state)
{
    (void)state;
    struct error err;
    run_sql("delete from assets");
    struct asset assets[] = { asset_of("one", 100), asset_of("two", 50), asset_of("one", 100) };
    assets[0].source_url = "https://x.example/one.png";
    assert_ok(assets_keep(&work, assets, ARRAY_COUNT(assets), &err), &err);
    assert_ok(assets_keep(&work, assets, 1, &err), &err);
    assert_ok(assets_keep(&work, NULL, 0, &err), &err);
    assert_int_equal(number_of("select count(*) from assets"), 2);
    assert_int_equal(number_of("select count(*) from assets where source_url = 'https://x.example/one.png' and width = 3"), 1);
    assert_int_equal(number_of("select count(*) from assets where hash = sha256('two') and source_url is null"), 1);
    struct asset_room room = room_left();
    assert_int_equal(room.count, ASSETS_MAX_COUNT - 2);
    assert_int_equal(room.bytes, ASSETS_MAX_BYTES - 150);
}

static void test_brands_are_apart(void **state)
{
    (void)state;
    struct error err;
    run_sql("delete from assets");
    struct asset asset = asset_of("one", 100);
    assert_ok(assets_keep(&work, &asset, 1, &err), &err);
    run_sql("insert into brands (organization_id, name, status, created_at, updated_at)"
            " values (%lld, 'Other', 'completed', now(), now())",
            (long long)work.organization_id);
    struct work other = work;
    other.brand_id = number_of("select max(id) from brands");
    assert_ok(assets_keep(&other, &asset, 1, &err), &err);
    assert_int_equal(number_of("select count(*) from assets"), 2);
    assert_int_equal(room_left().count, ASSETS_MAX_COUNT - 1);
    run_sql("delete from assets; delete from brands where name = 'Other'");
}

static void test_address_of_a_copy(void **state)
{
    (void)state;
    struct asset asset = asset_of("one", 100);
    struct asset_name name = asset_name_of(asset.hash, asset.type);
    const char *url = asset_url(arena, "https://mail.example/p", &name);
    assert_string_equal(url, arena_printf(arena, "https://mail.example/p/assets/%s", name.text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_brand_notes_an_image_once),
        TEST(test_brands_are_apart),
        TEST(test_address_of_a_copy),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
