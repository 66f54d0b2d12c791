/*
 * Compiler attributes: they turn rules of this project into compiler errors.
 *
 * MUST_CHECK marks every function that can fail. NONNULL names the pointers that
 * must not be NULL. CLEANUP frees a foreign object at the end of its scope, so
 * that an early return needs no frees. Objects that outlive their function belong
 * to an arena.
 */
#pragma once

#include <stddef.h>

#define MUST_CHECK                             __attribute__((warn_unused_result))
#define NONNULL(...)                           __attribute__((nonnull(__VA_ARGS__)))
#define PRINTF_LIKE(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#define CLEANUP(function)                      __attribute__((cleanup(function)))
#define PURE                                   __attribute__((pure))
#define NORETURN                               __attribute__((noreturn))
#define RETURNS_NONNULL                        __attribute__((returns_nonnull))
#define UNUSED                                 __attribute__((unused))

/* 1 in a build with AddressSanitizer. */
#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifndef ADDRESS_SANITIZER
#define ADDRESS_SANITIZER 0
#endif

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Moves an owned pointer: the local becomes NULL, so its CLEANUP does nothing. */
#define TAKE_PTR(pointer)                                                                                                          \
    __extension__({                                                                                                                \
        __typeof__(pointer) *source_ = &(pointer);                                                                                 \
        __typeof__(pointer) taken_ = *source_;                                                                                     \
        *source_ = NULL;                                                                                                           \
        taken_;                                                                                                                    \
    })
