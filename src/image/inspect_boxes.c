#include "image/inspect_boxes.h"

struct box {
    struct reader type; /* at its four characters */
    struct reader content;
};

/* Reads the next box. A box that exceeds its parent ends with the parent, as in other readers. */
static bool next_box(struct reader *parent, struct box *ret_box)
{
    if (reader_left(parent) < 8)
        return false;
    uint64_t header_bytes = 8;
    uint64_t size = reader_u32be(parent);
    ret_box->type = *parent;
    reader_skip(parent, 4);
    if (size == 1) {
        size = reader_u64be(parent);
        header_bytes = 16;
    }
    if (size == 0) /* up to the end */
        size = reader_left(parent) + header_bytes;
    if (size < header_bytes || parent->failed)
        return false;
    uint64_t content = size - header_bytes;
    ret_box->content = reader_part(parent, content < reader_left(parent) ? content : reader_left(parent), 0);
    return true;
}

static void boxes_extend(struct image_boxes *boxes, uint64_t width, uint64_t height)
{
    if (width > boxes->width)
        boxes->width = width;
    if (height > boxes->height)
        boxes->height = height;
}

/* Image spatial extents (ISO/IEC 23008-12 §6.5.3): version and flags, width, height. */
static void read_extents(struct reader content, struct image_boxes *boxes)
{
    reader_skip(&content, 4);
    uint64_t width = reader_u32be(&content);
    uint64_t height = reader_u32be(&content);
    if (!content.failed)
        boxes_extend(boxes, width, height);
}

/* Sample descriptions: a visual entry has its size after 24 other bytes (ISO/IEC 14496-12 §12.1.3). */
static void read_descriptions(struct reader content, struct image_boxes *boxes)
{
    struct box entry;
    reader_skip(&content, 8); /* version and flags, number of entries */
    while (next_box(&content, &entry)) {
        reader_skip(&entry.content, 24);
        uint64_t width = reader_u16be(&entry.content);
        uint64_t height = reader_u16be(&entry.content);
        if (!entry.content.failed)
            boxes_extend(boxes, width, height);
    }
}

/* Sample sizes, stsz and stz2: version and flags, size or field size, number of samples (§8.7.3). */
static void read_sample_count(struct reader content, struct image_boxes *boxes)
{
    reader_skip(&content, 8);
    uint64_t samples = reader_u32be(&content);
    if (!content.failed && samples > boxes->samples)
        boxes->samples = samples;
}

/* The function for each type of box. */
static const struct box_rule {
    char type[5];
    uint64_t skip;                                                  /* bytes of a container before its boxes */
    void (*read)(struct reader content, struct image_boxes *boxes); /* NULL: a container */
} rules[] = {
    { "meta", 4, NULL },
    { "iprp", 0, NULL },
    { "ipco", 0, NULL },
    { "moov", 0, NULL },
    { "trak", 0, NULL },
    { "mdia", 0, NULL },
    { "minf", 0, NULL },
    { "stbl", 0, NULL },
    { "ispe", 0, read_extents },
    { "stsd", 0, read_descriptions },
    { "stsz", 0, read_sample_count },
    { "stz2", 0, read_sample_count },
};

/* moov/trak/mdia/minf/stbl/stsz is the deepest path. */
enum { MAX_DEPTH = 6 };

static void read_boxes(struct reader parent, unsigned depth, struct image_boxes *boxes)
{
    struct box box;
    while (depth < MAX_DEPTH && next_box(&parent, &box)) {
        for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
            if (!reader_has_tag(&box.type, rules[i].type))
                continue;
            if (rules[i].read != NULL) {
                rules[i].read(box.content, boxes);
            } else {
                reader_skip(&box.content, rules[i].skip);
                read_boxes(box.content, depth + 1, boxes);
            }
        }
    }
}

struct image_boxes image_boxes_read(struct reader file)
{
    struct image_boxes boxes = { 0 };
    read_boxes(file, 0, &boxes);
    return boxes;
}

bool image_boxes_are_avif(struct reader file)
{
    struct box box;
    if (!next_box(&file, &box) || !reader_has_tag(&box.type, "ftyp"))
        return false;
    for (bool is_major = true; reader_left(&box.content) >= 4; is_major = false) {
        if (reader_has_tag(&box.content, "avif") || reader_has_tag(&box.content, "avis"))
            return true;
        reader_skip(&box.content, is_major ? 8 : 4); /* the minor version follows the major brand */
    }
    return false;
}
