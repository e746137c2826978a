/* SPDX-License-Identifier: MIT */
/*
 * sanitizer.h - the sanitizer of this build, for gcc and for clang, and settings that depend on it.
 */
#ifndef GLOCK__SANITIZER_H
#define GLOCK__SANITIZER_H

#include <features.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GLOCK__ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define GLOCK__TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define GLOCK__ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define GLOCK__TSAN 1
#endif

#ifndef GLOCK__ASAN
#define GLOCK__ASAN 0
#endif
#ifndef GLOCK__TSAN
#define GLOCK__TSAN 0
#endif

/*
 * For a function that reads memory which other threads may change meanwhile, and then finds out
 * whether they did. ThreadSanitizer must not look at it.
 */
#if GLOCK__TSAN
#define GLOCK__RACY __attribute__((no_sanitize("thread"), noinline))
#else
#define GLOCK__RACY
#endif

/*
 * For a thread-local variable. initial-exec is a load relative to the thread pointer, without a
 * call. It is not used with a sanitizer. gcc's check for null pointers relies on CPU flags
 * that the linker's version of that instruction does not set. dlopen() of musl refuses a library
 * with such variables, because musl has no spare room for them.
 */
#if GLOCK__ASAN || GLOCK__TSAN || !defined(__GLIBC__)
#define GLOCK__TLS
#else
#define GLOCK__TLS __attribute__((tls_model("initial-exec")))
#endif

#endif
