/*
 * Attributes that turn habits of this project into compiler errors.
 *
 * MUST_CHECK marks every function that can fail; NONNULL states what a caller
 * owes; CLEANUP ties a foreign object to its scope, so that an early return
 * needs no ladder of frees. What outlives its function belongs to an arena.
 */
#pragma once

#include <stddef.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))
#define PRINTF_LIKE(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#define CLEANUP(function) __attribute__((cleanup(function)))
#define PURE __attribute__((pure))
#define NORETURN __attribute__((noreturn))
#define RETURNS_NONNULL __attribute__((returns_nonnull))
#define UNUSED __attribute__((unused))

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Hands an owned pointer on: the local is emptied, so its CLEANUP does nothing. */
#define TAKE_PTR(pointer)              \
    __extension__({                    \
        __typeof__(pointer) *source_ = &(pointer); \
        __typeof__(pointer) taken_ = *source_;     \
        *source_ = NULL;               \
        taken_;                        \
    })
