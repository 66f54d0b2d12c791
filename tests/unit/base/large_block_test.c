/* Large blocks: alignment, content, and that a freed block goes back to the system. */
#include "fixtures/base_case.h"

#include "base/large_block.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 9 };

static void test_blocks_are_aligned_and_apart(void **state)
{
    (void)state;
    unsigned char *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t size = (1 + i % 3) * LARGE_BLOCK_BYTES;
        blocks[i] = large_block_new(size);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % LARGE_BLOCK_BYTES, 0);
        for (size_t at = 0; at < size; at += 4096)
            assert_int_equal(blocks[i][at], 0);
        memset(blocks[i], (int)i + 1, size);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t size = (1 + i % 3) * LARGE_BLOCK_BYTES;
        assert_int_equal(blocks[i][0], i + 1);
        assert_int_equal(blocks[i][size - 1], i + 1);
        large_block_free(blocks[i], size);
    }
}

/* msync(2) fails with ENOMEM where nothing is mapped. */
static bool is_mapped(char *page)
{
    return msync(page, 4096, MS_ASYNC) == 0 || errno != ENOMEM;
}

static void test_nothing_stays_mapped(void **state)
{
    (void)state;
    char *block = large_block_new(LARGE_BLOCK_BYTES);
    assert_non_null(block);
    assert_true(is_mapped(block) && is_mapped(block + LARGE_BLOCK_BYTES - 4096));
    large_block_free(block, LARGE_BLOCK_BYTES);
    assert_false(is_mapped(block) || is_mapped(block + LARGE_BLOCK_BYTES - 4096));
}

static void test_a_size_beyond_the_address_space(void **state)
{
    (void)state;
    assert_null(large_block_new(SIZE_MAX / LARGE_BLOCK_BYTES * LARGE_BLOCK_BYTES));
    assert_null(large_block_new((size_t)1 << 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_aligned_and_apart),
        cmocka_unit_test(test_nothing_stays_mapped),
        cmocka_unit_test(test_a_size_beyond_the_address_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
