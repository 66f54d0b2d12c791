#include "image/inspect.h"

#include "image/inspect_boxes.h"
#include "image/reader.h"

#include <stdbool.h>
#include <string.h>

static const char damaged[] = "its headers are damaged";

static struct image_header reject_image(const char *problem)
{
    return (struct image_header){ .kind = IMAGE_KIND_NONE, .problem = problem };
}

/* Refuses a header with a size or count of 0. */
static struct image_header checked_header(struct image_header header)
{
    return header.width > 0 && header.height > 0 && header.frames > 0 ? header : reject_image(damaged);
}

/* ---- JPEG ---- */

static bool is_start_of_frame(unsigned marker)
{
    /* C4, C8 and CC in between define tables (T.81 table B.1). */
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

static struct image_header inspect_jpeg(struct reader reader)
{
    enum { START_OF_SCAN = 0xDA, END_OF_IMAGE = 0xD9 };
    reader_skip(&reader, 2);
    while (!reader.failed) {
        if (reader_u8(&reader) != 0xFF)
            return reject_image(damaged);
        unsigned marker = reader_u8(&reader);
        while (marker == 0xFF && !reader.failed) /* fill bytes */
            marker = reader_u8(&reader);
        bool has_no_length = marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
        if (has_no_length)
            continue;
        if (marker == START_OF_SCAN || marker == END_OF_IMAGE)
            break;
        struct reader segment = reader_part(&reader, reader_u16be(&reader), 2);
        if (!is_start_of_frame(marker))
            continue;
        reader_skip(&segment, 1); /* sample precision */
        uint64_t height = reader_u16be(&segment);
        uint64_t width = reader_u16be(&segment);
        if (segment.failed)
            break;
        return checked_header((struct image_header){ .kind = IMAGE_KIND_JPEG, .width = width, .height = height, .frames = 1 });
    }
    return reject_image(damaged);
}

/* ---- PNG ---- */

static struct image_header inspect_png(struct reader reader)
{
    struct image_header header = { .kind = IMAGE_KIND_PNG, .frames = 1 };
    reader_skip(&reader, 8);
    for (bool first = true; !reader.failed; first = false) {
        uint64_t length = reader_u32be(&reader);
        bool is_header = reader_has_tag(&reader, "IHDR");
        bool is_animation = reader_has_tag(&reader, "acTL");
        bool is_data = reader_has_tag(&reader, "IDAT");
        reader_skip(&reader, 4);
        if (is_data) /* all header chunks precede the pixels */
            return first ? reject_image(damaged) : checked_header(header);
        if (first != is_header)
            return reject_image(damaged);
        struct reader chunk = reader_part(&reader, length, 0);
        reader_skip(&reader, 4); /* CRC */
        if (is_header) {
            header.width = reader_u32be(&chunk);
            header.height = reader_u32be(&chunk);
        }
        if (is_animation)
            header.frames = reader_u32be(&chunk);
        if (chunk.failed)
            break;
    }
    return reject_image(damaged);
}

/* ---- GIF ---- */

static void skip_color_table(struct reader *reader, unsigned flags)
{
    if ((flags & 0x80) != 0)
        reader_skip(reader, (uint64_t)3 << ((flags & 7) + 1));
}

static void skip_sub_blocks(struct reader *reader)
{
    unsigned size = reader_u8(reader);
    while (size > 0 && !reader->failed) {
        reader_skip(reader, size);
        size = reader_u8(reader);
    }
}

static void header_extend(struct image_header *header, uint64_t width, uint64_t height)
{
    if (width > header->width)
        header->width = width;
    if (height > header->height)
        header->height = height;
}

static void read_gif_frame(struct reader *reader, struct image_header *header)
{
    uint64_t left = reader_u16le(reader);
    uint64_t top = reader_u16le(reader);
    uint64_t width = reader_u16le(reader);
    uint64_t height = reader_u16le(reader);
    skip_color_table(reader, reader_u8(reader));
    reader_skip(reader, 1); /* code size of LZW */
    if (reader->failed)
        return;
    header_extend(header, left + width, top + height);
    header->frames++;
    skip_sub_blocks(reader);
}

static struct image_header inspect_gif(struct reader reader)
{
    enum { FRAME = 0x2C, EXTENSION = 0x21, TRAILER = 0x3B };
    struct image_header header = { .kind = IMAGE_KIND_GIF };
    reader_skip(&reader, 6);
    header.width = reader_u16le(&reader);
    header.height = reader_u16le(&reader);
    unsigned flags = reader_u8(&reader);
    reader_skip(&reader, 2);
    skip_color_table(&reader, flags);
    while (!reader.failed) {
        unsigned block = reader_u8(&reader);
        if (block == FRAME) {
            read_gif_frame(&reader, &header);
        } else if (block == EXTENSION) {
            reader_skip(&reader, 1);
            skip_sub_blocks(&reader);
        } else {
            break; /* the trailer, or an unknown block, where viewers stop too */
        }
    }
    return checked_header(header);
}

/* ---- WebP ---- */

/* A key frame of VP8 (RFC 6386 §9.1); other frames have no size. */
static void read_vp8(struct reader chunk, struct image_header *header)
{
    reader_skip(&chunk, 3);
    bool starts = reader_u8(&chunk) == 0x9D && reader_u8(&chunk) == 0x01 && reader_u8(&chunk) == 0x2A;
    uint64_t width = reader_u16le(&chunk) & 0x3FFF;
    uint64_t height = reader_u16le(&chunk) & 0x3FFF;
    if (starts && !chunk.failed)
        header_extend(header, width, height);
}

static void read_vp8l(struct reader chunk, struct image_header *header)
{
    unsigned signature = reader_u8(&chunk);
    uint64_t bits = reader_u32le(&chunk);
    if (signature == 0x2F && !chunk.failed)
        header_extend(header, (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1);
}

static struct image_header inspect_webp(struct reader reader)
{
    struct image_header header = { .kind = IMAGE_KIND_WEBP };
    uint64_t animation_frames = 0;
    bool has_pixels = false;
    reader_skip(&reader, 12);
    while (!reader.failed && reader_left(&reader) > 0) {
        struct reader tag = reader;
        reader_skip(&reader, 4);
        uint64_t length = reader_u32le(&reader);
        bool is_last = length > reader_left(&reader);
        struct reader chunk = reader_part(&reader, is_last ? reader_left(&reader) : length, 0);
        reader_skip(&reader, (length & 1) != 0 && reader_left(&reader) > 0);
        if (reader_has_tag(&tag, "VP8X")) {
            reader_skip(&chunk, 4);
            uint64_t width = reader_u24le(&chunk) + 1;
            uint64_t height = reader_u24le(&chunk) + 1;
            header_extend(&header, width, height);
        } else if (reader_has_tag(&tag, "VP8 ")) {
            has_pixels = true;
            read_vp8(chunk, &header);
        } else if (reader_has_tag(&tag, "VP8L")) {
            has_pixels = true;
            read_vp8l(chunk, &header);
        } else if (reader_has_tag(&tag, "ANMF")) {
            animation_frames++;
        }
    }
    header.frames = animation_frames > 0 ? animation_frames : has_pixels;
    return checked_header(header);
}

/* ---- AVIF ---- */

static struct image_header inspect_avif(struct reader reader)
{
    struct image_boxes boxes = image_boxes_read(reader);
    return checked_header((struct image_header){
        .kind = IMAGE_KIND_AVIF,
        .width = boxes.width,
        .height = boxes.height,
        .frames = boxes.samples > 0 ? boxes.samples : 1,
    });
}

/* ---- Detection of the type ---- */

static bool holds_text(const unsigned char *bytes, size_t size, const char *text)
{
    enum { LOOK_BYTES = 1024 };
    return memmem(bytes, size < LOOK_BYTES ? size : LOOK_BYTES, text, strlen(text)) != NULL;
}

static struct image_header reject_unknown(const unsigned char *bytes, size_t size)
{
    if (size == 0)
        return reject_image("it is empty");
    if (holds_text(bytes, size, "<svg"))
        return reject_image("it is an SVG, which can contain scripts");
    if (holds_text(bytes, size, "<html") || holds_text(bytes, size, "<!DOCTYPE") || holds_text(bytes, size, "<!doctype"))
        return reject_image("it is a web page, not an image");
    return reject_image("it is not a JPEG, PNG, GIF, WebP or AVIF image");
}

struct image_header image_inspect(const unsigned char *bytes, size_t size)
{
    struct reader reader = { bytes, bytes + size, false };
    if (reader_starts_with(&reader, "\xFF\xD8\xFF", 3))
        return inspect_jpeg(reader);
    if (reader_starts_with(&reader, "\x89PNG\r\n\x1A\n", 8))
        return inspect_png(reader);
    if (reader_starts_with(&reader, "GIF87a", 6) || reader_starts_with(&reader, "GIF89a", 6))
        return inspect_gif(reader);
    if (size >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0)
        return inspect_webp(reader);
    if (image_boxes_are_avif(reader))
        return inspect_avif(reader);
    return reject_unknown(bytes, size);
}
