/* Fuzzes the inspection of images: whatever the bytes are, the answer is a size above nothing or a reason. */
#include "fuzz.h"
#include "image/inspect.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const unsigned char nothing[1];
    struct image_header header = image_inspect(data != NULL ? data : nothing, size);
    bool is_image = header.kind != IMAGE_KIND_NONE;
    bool has_size = header.width > 0 && header.height > 0 && header.frames > 0;
    require(is_image == has_size && is_image == (header.problem == NULL));
    return 0;
}
