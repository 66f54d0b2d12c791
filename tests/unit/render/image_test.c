/* Images: the inspection of valid and hostile files, and the subprocess that does it. */
#include "render/image.h"

#include "fixtures/image_program.h"
#include "image/inspect.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

/* A text literal as bytes, its NULs included. */
#define BYTES(literal) (const unsigned char *)(literal), sizeof(literal) - 1

/* ---- Making files ---- */

struct file {
    unsigned char bytes[64 * 1024];
    size_t size;
};

static void put(struct file *file, const void *bytes, size_t size)
{
    assert_true(file->size + size <= sizeof(file->bytes));
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
}

static void put_text(struct file *file, const char *text)
{
    put(file, text, strlen(text));
}

static void put_be(struct file *file, uint64_t value, unsigned bytes)
{
    while (bytes-- > 0) {
        unsigned char byte = (unsigned char)(value >> (8 * bytes));
        put(file, &byte, 1);
    }
}

static void put_le(struct file *file, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(value >> (8 * i));
        put(file, &byte, 1);
    }
}

static void put_png_start(struct file *file, uint64_t width, uint64_t height)
{
    put(file, "\x89PNG\r\n\x1A\n", 8);
    put_be(file, 13, 4);
    put_text(file, "IHDR");
    put_be(file, width, 4);
    put_be(file, height, 4);
    put(file, "\x08\0\0\0\0", 5);
    put_be(file, 0, 4);
}

static void put_png_end(struct file *file)
{
    put_be(file, 0, 4);
    put_text(file, "IDAT");
    put_be(file, 0, 4);
}

/* A box is closed explicitly: the position of its size is kept until its end is known. */
static size_t box_begin(struct file *file, const char *type)
{
    size_t start = file->size;
    put_be(file, 0, 4);
    put_text(file, type);
    return start;
}

static void box_end(struct file *file, size_t start)
{
    struct file size = { .size = 0 };
    put_be(&size, file->size - start, 4);
    memcpy(file->bytes + start, size.bytes, 4);
}

static void put_brand(struct file *file, const char *brand)
{
    size_t box = box_begin(file, "ftyp");
    put_text(file, "mif1");
    put_be(file, 0, 4);
    put_text(file, brand);
    box_end(file, box);
}

static void put_extents(struct file *file, uint64_t width, uint64_t height)
{
    size_t box = box_begin(file, "ispe");
    put_be(file, 0, 4);
    put_be(file, width, 4);
    put_be(file, height, 4);
    box_end(file, box);
}

/* ---- Asking ---- */

static void assert_image(const struct file *file, enum image_kind kind, uint64_t width, uint64_t height, uint64_t frames)
{
    struct image_header header = image_inspect(file->bytes, file->size);
    if (header.kind != kind)
        fail_msg("kind %d: %s", (int)header.kind, header.problem);
    assert_int_equal(header.width, width);
    assert_int_equal(header.height, height);
    assert_int_equal(header.frames, frames);
}

static void assert_refused(const unsigned char *bytes, size_t size, const char *words)
{
    struct image_header header = image_inspect(bytes, size);
    assert_int_equal(header.kind, IMAGE_KIND_NONE);
    if (strstr(header.problem, words) == NULL)
        fail_msg("%s", header.problem);
}

/* ---- Formats ---- */

static void test_png(void **state)
{
    (void)state;
    struct file file = { .size = 0 };
    put_png_start(&file, 640, 480);
    struct file animated = file;
    put_png_end(&file);
    assert_image(&file, IMAGE_KIND_PNG, 640, 480, 1);
    put_be(&animated, 8, 4);
    put_text(&animated, "acTL");
    put_be(&animated, 12, 4);
    put_be(&animated, 0, 4);
    put_be(&animated, 0, 4);
    assert_refused(animated.bytes, animated.size, "damaged"); /* it never comes to pixels */
    put_png_end(&animated);
    assert_image(&animated, IMAGE_KIND_PNG, 640, 480, 12);
}

static void test_jpeg(void **state)
{
    (void)state;
    struct file file = { .size = 0 };
    put(&file, "\xFF\xD8\xFF\xE0\0\x06 abc", 10);
    put(&file, "\xFF\xFF\xFF\xC4\0\x04 x", 8); /* fill bytes, and a table that looks like a frame */
    put(&file, "\xFF\xC2\0\x0B\x08\x01\x02\x03\x04\x01\0\0\0", 13);
    assert_image(&file, IMAGE_KIND_JPEG, 0x304, 0x102, 1);
    assert_refused(BYTES("\xFF\xD8\xFF\xDA\0\x08 scan first"), "damaged");
    assert_refused(BYTES("\xFF\xD8\xFF\xC0\0\x0B\x08\0\0\0\x05\x01"), "damaged"); /* no height */
    assert_refused(BYTES("\xFF\xD8\xFF\xE0\0\x01"), "damaged");                   /* a length shorter than itself */
    assert_refused(BYTES("\xFF\xD8\xFF"), "damaged");
}

static void put_gif_frame(struct file *file, uint64_t left, uint64_t width)
{
    put(file, "\x2C", 1);
    put_le(file, left, 2);
    put_le(file, 0, 2);
    put_le(file, width, 2);
    put_le(file, 1, 2);
    put(file, "\0\x02\x02\x44\x01\0", 6);
}

static void test_gif(void **state)
{
    (void)state;
    struct file file = { .size = 0 };
    put(&file, "GIF89a\x03\0\x02\0\x80\0\0\0\0\0\xFF\xFF\xFF", 19);
    struct file empty = file;
    put(&file, "\x21\xF9\x04\0\0\0\0\0", 8);
    put_gif_frame(&file, 0, 3);
    put_gif_frame(&file, 100, 50); /* reaches beyond the screen */
    assert_image(&file, IMAGE_KIND_GIF, 150, 2, 2);
    put(&file, "\x3B", 1);
    assert_image(&file, IMAGE_KIND_GIF, 150, 2, 2);
    put(&empty, "\x3B", 1);
    assert_refused(empty.bytes, empty.size, "damaged");
}

static void test_webp(void **state)
{
    (void)state;
    struct file lossy = { .size = 0 };
    put(&lossy, "RIFF\0\0\0\0WEBPVP8 \x0A\0\0\0\0\0\0\x9D\x01\x2A", 26);
    put_le(&lossy, 640, 2);
    put_le(&lossy, 480, 2);
    assert_image(&lossy, IMAGE_KIND_WEBP, 640, 480, 1);

    struct file lossless = { .size = 0 };
    put(&lossless, "RIFF\0\0\0\0WEBPVP8L\x05\0\0\0\x2F", 21);
    put_le(&lossless, 99 | (uint64_t)49 << 14, 4);
    assert_image(&lossless, IMAGE_KIND_WEBP, 100, 50, 1);

    struct file animated = { .size = 0 };
    put(&animated, "RIFF\0\0\0\0WEBPVP8X\x0A\0\0\0\x02\0\0\0", 24);
    put_le(&animated, 1999, 3);
    put_le(&animated, 999, 3);
    assert_refused(animated.bytes, animated.size, "damaged"); /* nothing to show */
    for (int i = 0; i < 5; i++)
        put(&animated, "ANMF\x01\0\0\0x\0", 10);
    assert_image(&animated, IMAGE_KIND_WEBP, 2000, 1000, 5);
}

static void test_avif(void **state)
{
    (void)state;
    struct file file = { .size = 0 };
    put_brand(&file, "avif");
    size_t meta = box_begin(&file, "meta");
    put_be(&file, 0, 4);
    size_t iprp = box_begin(&file, "iprp");
    size_t ipco = box_begin(&file, "ipco");
    put_extents(&file, 512, 512); /* a tile of a grid */
    put_extents(&file, 4096, 2048);
    box_end(&file, ipco);
    box_end(&file, iprp);
    box_end(&file, meta);
    assert_image(&file, IMAGE_KIND_AVIF, 4096, 2048, 1);

    struct file sequence = file;
    static const char *const way[] = { "moov", "trak", "mdia", "minf", "stbl" };
    size_t boxes[ARRAY_COUNT(way)];
    for (size_t i = 0; i < ARRAY_COUNT(way); i++)
        boxes[i] = box_begin(&sequence, way[i]);
    size_t sizes = box_begin(&sequence, "stsz");
    put_be(&sequence, 0, 8);
    put_be(&sequence, 400, 4);
    box_end(&sequence, sizes);
    for (size_t i = ARRAY_COUNT(way); i-- > 0;)
        box_end(&sequence, boxes[i]);
    assert_image(&sequence, IMAGE_KIND_AVIF, 4096, 2048, 400);

    struct file other = { .size = 0 };
    put_brand(&other, "heic");
    assert_refused(other.bytes, other.size, "not a JPEG");
    struct file sizeless = { .size = 0 };
    put_brand(&sizeless, "avis");
    assert_refused(sizeless.bytes, sizeless.size, "damaged");
}

/* Boxes in boxes without end, and sizes that lead nowhere, cost neither stack nor time. */
static void test_boxes_without_end(void **state)
{
    (void)state;
    struct file file = { .size = 0 };
    put_brand(&file, "avif");
    while (file.size + 8 <= sizeof(file.bytes)) {
        put_be(&file, sizeof(file.bytes) - file.size, 4);
        put_text(&file, "moov");
    }
    assert_refused(file.bytes, file.size, "damaged");
    file.size = 0;
    put_brand(&file, "avif");
    while (file.size + 16 <= sizeof(file.bytes)) {
        put(&file, "\0\0\0\x01moov\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 16);
    }
    assert_refused(file.bytes, file.size, "damaged");
}

static void test_what_is_no_image(void **state)
{
    (void)state;
    assert_refused(BYTES(""), "empty");
    assert_refused(BYTES("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"), "SVG");
    assert_refused(BYTES("<?xml version='1.0'?>\n<!-- x --><svg/>"), "SVG");
    assert_refused(BYTES("<!DOCTYPE html><p>Hi"), "web page");
    assert_refused(BYTES("\x89PNG\r\n\x1A\n<html>"), "damaged");
    assert_refused(BYTES("%PDF-1.7"), "not a JPEG");
    assert_refused(BYTES("BM\x46\0\0\0"), "not a JPEG");
}

/* However a file is cut or bent, the answer is one of the two, and nothing is read beyond its end (the sanitizer looks). */
static void test_damage_everywhere(void **state)
{
    (void)state;
    struct file file = { .size = 0 };
    put_brand(&file, "avif");
    size_t meta = box_begin(&file, "meta");
    put_be(&file, 0, 4);
    put_extents(&file, 9, 9);
    box_end(&file, meta);
    for (size_t cut = 0; cut <= file.size; cut++) {
        unsigned char *exact = malloc(cut + 1);
        memcpy(exact, file.bytes, cut);
        for (size_t bent = 0; bent < cut; bent++) {
            exact[bent] ^= 0xFF;
            struct image_header header = image_inspect(exact, cut);
            assert_true((header.kind == IMAGE_KIND_NONE) == (header.problem != NULL));
            exact[bent] ^= 0xFF;
        }
        free(exact);
    }
}

/* ---- The process ---- */

static struct image_facts check(struct image_checker *checker, const struct file *file)
{
    struct error err;
    struct image_facts facts;
    assert_ok(image_check(checker, file->bytes, file->size, &facts, &err), &err);
    return facts;
}

static void assert_bound(struct image_checker *checker, const struct file *file, const char *words)
{
    struct image_facts facts = check(checker, file);
    if (words == NULL ? facts.type == IMAGE_NONE : facts.type != IMAGE_NONE || strstr(facts.problem, words) == NULL)
        fail_msg("type %d: %s", (int)facts.type, facts.problem);
}

static void put_animated_webp(struct file *file, uint64_t width, uint64_t height, int frames)
{
    file->size = 0;
    put(file, "RIFF\0\0\0\0WEBPVP8X\x0A\0\0\0\x02\0\0\0", 24);
    put_le(file, width - 1, 3);
    put_le(file, height - 1, 3);
    for (int i = 0; i < frames; i++)
        put(file, "ANMF\x01\0\0\0x\0", 10);
}

static void test_bounds(void **state)
{
    (void)state;
    struct image_checker *checker = image_checker_new(image_program_path());
    struct file file = { .size = 0 };
    put_png_start(&file, 8000, 5000);
    put_png_end(&file);
    assert_bound(checker, &file, NULL);
    file.size = 0;
    put_png_start(&file, 8001, 5000);
    put_png_end(&file);
    assert_bound(checker, &file, "40 million");
    file.size = 0;
    put_png_start(&file, UINT32_MAX, UINT32_MAX);
    put_png_end(&file);
    assert_bound(checker, &file, "40 million");
    put_animated_webp(&file, 10, 10, 300);
    assert_bound(checker, &file, NULL);
    put_animated_webp(&file, 10, 10, 301);
    assert_bound(checker, &file, "300 frames");
    put_animated_webp(&file, 1000, 1000, 100);
    assert_bound(checker, &file, NULL);
    put_animated_webp(&file, 1000, 1000, 101);
    assert_bound(checker, &file, "100 million");
    image_checker_free(checker);
}

static void test_one_process_answers_many(void **state)
{
    (void)state;
    struct image_checker *checker = image_checker_new(image_program_path());
    struct file png = { .size = 0 };
    struct file page = { .size = 0 };
    put_png_start(&png, 7, 5);
    put_png_end(&png);
    put_text(&page, "<html>");
    for (int i = 0; i < 20; i++) {
        struct image_facts facts = check(checker, &png);
        assert_int_equal(facts.type, IMAGE_PNG);
        assert_int_equal(facts.width, 7);
        assert_int_equal(facts.height, 5);
        assert_int_equal(facts.frames, 1);
        assert_int_equal(check(checker, &page).type, IMAGE_NONE);
    }
    struct error err;
    struct image_facts facts;
    unsigned char *large = calloc(1, IMAGE_MAX_BYTES + 1);
    assert_ok(image_check(checker, large, IMAGE_MAX_BYTES, &facts, &err), &err);
    assert_string_equal(facts.problem, "it is not a JPEG, PNG, GIF, WebP or AVIF image");
    assert_ok(image_check(checker, large, IMAGE_MAX_BYTES + 1, &facts, &err), &err);
    assert_string_equal(facts.problem, "it is larger than 15 MB");
    free(large);
    image_checker_free(checker);
}

/* A stand-in for the program, as a shell script. */
static void write_script(const char *path, const char *lines)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", lines);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

/* An image without a positive reply of the process is refused, and the next image gets a new process. */
static void test_a_process_that_fails(void **state)
{
    (void)state;
    static const char *const failures[] = {
        "exit 0",
        "kill -9 $$",
        "yes png",
        "echo png 1; exec cat",
        "echo png 0 5 1; exec cat",
        "echo png -3 5 1; exec cat",
        "echo png 5 5 99999999999; exec cat",
        "echo svg 1 1 1; exec cat",
        "echo; exec cat",
    };
    char place[] = "/tmp/image_test.XXXXXX";
    char script[64];
    struct file png = { .size = 0 };
    put_png_start(&png, 7, 5);
    put_png_end(&png);
    make_folder(place);
    chmod(place, 0755);
    snprintf(script, sizeof(script), "%s/image", place);
    for (size_t i = 0; i < ARRAY_COUNT(failures); i++) {
        write_script(script, failures[i]);
        struct image_checker *checker = image_checker_new(script);
        struct image_facts facts = check(checker, &png);
        if (facts.type != IMAGE_NONE)
            fail_msg("%s: taken for an image", failures[i]);
        write_script(script, "echo jpeg 1 2 3; exec cat >/dev/null");
        assert_int_equal(check(checker, &png).type, IMAGE_JPEG);
        image_checker_free(checker);
    }
    remove_folder(place);
}

static void test_a_program_that_is_missing(void **state)
{
    (void)state;
    struct image_checker *checker = image_checker_new("/nonexistent/posthorn-image");
    struct error err = { .code = ERR_NONE };
    struct image_facts facts;
    assert_false(image_check(checker, "x", 1, &facts, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    image_checker_free(checker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png),
        cmocka_unit_test(test_jpeg),
        cmocka_unit_test(test_gif),
        cmocka_unit_test(test_webp),
        cmocka_unit_test(test_avif),
        cmocka_unit_test(test_boxes_without_end),
        cmocka_unit_test(test_what_is_no_image),
        cmocka_unit_test(test_damage_everywhere),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_one_process_answers_many),
        cmocka_unit_test(test_a_process_that_fails),
        cmocka_unit_test(test_a_program_that_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
