#include "base/large_block.h"

#include <stdint.h>
#include <sys/mman.h>

/* Maps more than the block needs, and unmaps the parts before and behind its aligned bytes. */
void *large_block_new(size_t size)
{
    size_t mapped_bytes;
    if (__builtin_add_overflow(size, LARGE_BLOCK_BYTES, &mapped_bytes))
        return NULL;
    char *mapped = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)mapped % LARGE_BLOCK_BYTES;
    char *block = mapped + before;
    if (before > 0)
        munmap(mapped, before);
    munmap(block + size, LARGE_BLOCK_BYTES - before);
    (void)madvise(block, size, MADV_HUGEPAGE); /* fails where the kernel has no huge pages */
    return block;
}

void large_block_free(void *block, size_t size)
{
    munmap(block, size);
}
