#include "engine/search/sorted_rows.h"

#include <string.h>

static const char *text_at(const struct sorted_rows *sorted, size_t index)
{
    return *(const char *const *)((const char *)sorted->rows + index * sorted->row_bytes);
}

size_t sorted_rows_find(struct sorted_rows sorted, const char *text)
{
    size_t low = 0;
    size_t high = sorted.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(text_at(&sorted, middle), text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
