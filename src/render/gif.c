#include "render/gif.h"

#include "render/vips.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    GIF_HEADER_BYTES = 13,
    GIF_DESCRIPTOR_BYTES = 10,
    GIF_HAS_TABLE = 0x80,
    GIF_TABLE_BITS = 7,
    GIF_EXTENSION = 0x21,
    GIF_CONTROL = 0xF9,
    GIF_APPLICATION = 0xFF,
    GIF_IMAGE = 0x2C,
    GIF_END = 0x3B,
    CONTROL_BYTES = 8,
    RAW_MAX_BYTES = 3 * GIF_MAX_PIXELS + 64,
    ENCODED_MAX_BYTES = 24 * 1000 * 1000,
    TRIES_MAX = 9,
    SHRINK_PERCENT = 80,
};

/* ---- Times ---- */

struct gif_reader {
    const unsigned char *at;
    const unsigned char *end;
    struct buf *output;
};

static bool has_left(const struct gif_reader *reader, size_t size)
{
    return (size_t)(reader->end - reader->at) >= size;
}

static bool copy(struct gif_reader *reader, size_t size)
{
    if (!has_left(reader, size))
        return false;
    buf_add(reader->output, reader->at, size);
    reader->at += size;
    return true;
}

static size_t table_bytes(unsigned char flags)
{
    return (flags & GIF_HAS_TABLE) != 0 ? (size_t)3 << ((flags & GIF_TABLE_BITS) + 1) : 0;
}

/* The size of a chain of blocks with the empty one at its end; 0 when it is cut. */
static size_t chain_bytes(const struct gif_reader *reader, size_t from)
{
    for (size_t at = from; has_left(reader, at + 1);) {
        size_t size = reader->at[at];
        at += 1 + size;
        if (size == 0)
            return at;
    }
    return 0;
}

static void add_control(struct buf *output, const unsigned char *control, int delay_cs)
{
    unsigned char bytes[CONTROL_BYTES] = { GIF_EXTENSION, GIF_CONTROL, 4, control != NULL ? control[3] : 4 };
    bytes[4] = (unsigned char)(delay_cs & 0xFF);
    bytes[5] = (unsigned char)(delay_cs >> 8 & 0xFF);
    bytes[6] = control != NULL ? control[6] : 0;
    buf_add(output, bytes, sizeof(bytes));
}

static bool copy_image(struct gif_reader *reader)
{
    if (!has_left(reader, GIF_DESCRIPTOR_BYTES))
        return false;
    size_t before_data = GIF_DESCRIPTOR_BYTES + table_bytes(reader->at[GIF_DESCRIPTOR_BYTES - 1]) + 1;
    size_t size = chain_bytes(reader, before_data);
    return size > 0 && copy(reader, size);
}

/* Copies an extension, or keeps the control of the next frame for it. */
static bool take_extension(struct gif_reader *reader, bool plays_once, const unsigned char **control)
{
    size_t size = chain_bytes(reader, 2);
    if (size == 0)
        return false;
    if (reader->at[1] == GIF_CONTROL && size == CONTROL_BYTES)
        *control = reader->at;
    else if (reader->at[1] == GIF_APPLICATION && !plays_once)
        buf_add(reader->output, reader->at, size);
    reader->at += size;
    return true;
}

bool gif_set_times(struct bytes gif, const struct gif_frames *frames, struct buf *output)
{
    struct gif_reader reader = { .at = gif.data, .end = gif.data + gif.size, .output = output };
    const unsigned char *control = NULL;
    size_t frame = 0;
    if (!has_left(&reader, GIF_HEADER_BYTES) || !copy(&reader, GIF_HEADER_BYTES + table_bytes(gif.data[10])))
        return false;
    while (has_left(&reader, 2) && reader.at[0] != GIF_END) {
        bool is_image = reader.at[0] == GIF_IMAGE && frame < frames->count;
        if (is_image) {
            add_control(output, control, frames->delays_cs[frame++]);
            control = NULL;
        }
        if (!is_image && reader.at[0] != GIF_EXTENSION)
            return false;
        if (!(is_image ? copy_image(&reader) : take_extension(&reader, frames->plays_once, &control)))
            return false;
    }
    bool ends = has_left(&reader, 1) && reader.at[0] == GIF_END && copy(&reader, 1);
    return ends && frame == frames->count && !output->overflowed;
}

void gif_drop_frames(struct gif_frames *frames)
{
    size_t frame_bytes = (size_t)(frames->width * frames->height * 3);
    size_t kept = 0;
    for (size_t i = 0; i < frames->count; i++) {
        if (i % 2 == 1) {
            frames->delays_cs[kept - 1] += frames->delays_cs[i];
            continue;
        }
        memmove(frames->pixels->data + kept * frame_bytes, frames->pixels->data + i * frame_bytes, frame_bytes);
        frames->delays_cs[kept++] = frames->delays_cs[i];
    }
    frames->count = kept;
    buf_cut(frames->pixels, kept * frame_bytes);
}

/* ---- Raw pixels ---- */

/* Reads a number after white space and comments. */
static bool take_number(struct bytes file, size_t *at, int64_t *ret_number)
{
    while (*at < file.size && (file.data[*at] <= ' ' || file.data[*at] == '#')) {
        bool is_comment = file.data[*at] == '#';
        while (is_comment && *at < file.size && file.data[*at] != '\n')
            (*at)++;
        (*at)++;
    }
    int64_t number = 0;
    size_t first = *at;
    while (*at < file.size && file.data[*at] >= '0' && file.data[*at] <= '9' && number <= INT32_MAX)
        number = 10 * number + (file.data[(*at)++] - '0');
    *ret_number = number;
    return *at > first && number > 0 && number <= INT32_MAX;
}

bool gif_add_ppm(struct bytes file, struct buf *pixels, int64_t *ret_width, int64_t *ret_height)
{
    size_t at = 2;
    int64_t most;
    bool is_grey = file.size > 2 && memcmp(file.data, "P5", 2) == 0;
    bool is_colour = file.size > 2 && memcmp(file.data, "P6", 2) == 0;
    if ((!is_grey && !is_colour) || !take_number(file, &at, ret_width) || !take_number(file, &at, ret_height) ||
        !take_number(file, &at, &most) || most != UINT8_MAX)
        return false;
    at++;
    size_t count = (size_t)*ret_width * (size_t)*ret_height;
    if (count > GIF_MAX_PIXELS || at > file.size || file.size - at != count * (is_grey ? 1 : 3))
        return false;
    if (is_colour) {
        buf_add(pixels, file.data + at, 3 * count);
        return !pixels->overflowed;
    }
    char *room = buf_room(pixels, 3 * count);
    for (size_t i = 0; room != NULL && i < count; i++)
        memset(room + 3 * i, file.data[at + i], 3);
    if (room != NULL)
        buf_grown(pixels, 3 * count);
    return room != NULL;
}

/* ---- Encoding ---- */

static bool make_high_image(const struct gif_frames *frames, struct buf *ppm)
{
    buf_printf(ppm, "P6\n%" PRId64 " %" PRId64 "\n255\n", frames->width, frames->height * (int64_t)frames->count);
    buf_add(ppm, frames->pixels->data, frames->pixels->size);
    return !ppm->overflowed;
}

static struct bytes bytes_of(const struct buf *buf)
{
    return (struct bytes){ (const unsigned char *)buf->data, buf->size };
}

static bool fail_encoding(struct error *err, const char *cause)
{
    fail(err, ERR_INTERNAL_ERROR, NULL, "The animation could not be encoded.");
    return error_because(err, "gif: %s", cause);
}

/* One image of one palette, which is then cut into frames with this palette. */
static bool encode(struct arena *arena, const struct gif_frames *frames, int bits, struct buf *output, struct error *err)
{
    BUF_SCOPE high;
    BUF_SCOPE reduced;
    BUF_SCOPE cut;
    buf_init(&high, RAW_MAX_BYTES);
    buf_init(&reduced, ENCODED_MAX_BYTES);
    buf_init(&cut, ENCODED_MAX_BYTES);
    if (!make_high_image(frames, &high))
        return fail_encoding(err, "too many pixels");
    struct vips_run reduce = {
        .arguments = { "vips", "copy", "stdin", arena_printf(arena, ".gif[effort=5,dither=0.5,bitdepth=%d]", bits) },
        .input = bytes_of(&high),
        .is_own_input = true,
    };
    if (!vips_run(&reduce, &reduced, err))
        return false;
    struct vips_run join = {
        .arguments = { "vips", "copy", "stdin",
                       arena_printf(arena, ".gif[reuse,bitdepth=%d,page_height=%" PRId64 "]", bits, frames->height) },
        .input = bytes_of(&reduced),
    };
    return vips_run(&join, &cut, err) &&
           (gif_set_times(bytes_of(&cut), frames, output) || fail_encoding(err, "libvips wrote another number of frames"));
}

/* ---- Fitting ---- */

/* The next, smaller attempt. */
static void lower(struct gif *gif, int *bits, int64_t *width, bool *drops)
{
    if (*bits > GIF_BITS_MIN) {
        (*bits)--;
        gif->has_fewer_colours = true;
    } else if (!*drops) {
        *drops = true;
        gif->has_fewer_frames = true;
    } else {
        *width = *width * SHRINK_PERCENT / 100;
        gif->is_narrower = true;
    }
}

static bool try_once(struct arena *arena, const struct gif_source *source, int bits, int64_t width, bool drops, struct gif *gif,
                     struct buf *output, struct error *err)
{
    BUF_SCOPE pixels;
    buf_init(&pixels, RAW_MAX_BYTES);
    struct gif_frames frames = { .pixels = &pixels };
    if (!source->draw(source->context, width, &frames, err))
        return false;
    if (drops)
        gif_drop_frames(&frames);
    gif->width = frames.width;
    gif->height = frames.height;
    gif->frames = frames.count;
    gif->colours = 1 << bits;
    return encode(arena, &frames, bits, output, err);
}

bool gif_make(struct arena *arena, const struct gif_source *source, int64_t width, struct gif *ret_gif, struct error *err)
{
    int bits = source->bits;
    bool drops = false;
    struct buf *output = buf_in_arena(arena, ENCODED_MAX_BYTES);
    *ret_gif = (struct gif){ .width = width };
    for (int i = 0; i < TRIES_MAX && width > 0; i++) {
        buf_clear(output);
        if (!try_once(arena, source, bits, width, drops, ret_gif, output, err))
            return false;
        ret_gif->bytes = bytes_of(output);
        if (output->size <= GIF_MAX_BYTES)
            return true;
        /* One step saves little. A file that is much too large takes several steps before the next try. */
        for (size_t goal = output->size; goal > GIF_MAX_BYTES; goal = goal * 7 / 10)
            lower(ret_gif, &bits, &width, &drops);
    }
    return fail(err, ERR_INVALID_REQUEST, "width", "The animation does not fit into 1 MB. Give a smaller width.");
}
