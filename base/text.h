/* text.h -- growing strings, name suggestions, and small file helpers. */
#ifndef LH_BASE_TEXT_H
#define LH_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* A string that grows. {0} is an empty one; data is NULL or ends in NUL. Out of memory is sticky:
 * `failed` is set and later appends do nothing, so a caller checks once at the end. */
typedef struct lh_text {
  char *data;
  size_t length, capacity;
  bool failed;
} lh_text;

void lh_text_append(lh_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lh_text_append_bytes(lh_text *text, const char *bytes, size_t n);
void lh_text_free(lh_text *text);

/* The nearest of names (NULL-terminated) to `word` by edit distance, or NULL if none is near. */
const char *lh_nearest(const char *word, const char *const *names);

/* "; did you mean \"ring\"?" with the nearest of names, or "": the end of an error. Returns buffer. */
const char *lh_did_you_mean(const char *word, const char *const *names, char *buffer, size_t size);

char *lh_string_copy(const char *s); /* malloced; NULL: no memory */
char *lh_string_format(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* malloced */

/* Reads a whole file; *data is malloced, NUL-terminated, *size without the NUL. LH_EINVAL if it
 * does not exist, is a folder or may not be read, LH_EIO if reading fails. */
lh_status lh_file_read(const char *path, char **data, size_t *size);
/* Writes beside the target, flushes to disk, renames: a reader sees the old file or the whole new
 * one. What is no plain file (a pipe, /dev/null) is written to as it stands. LH_EIO with the
 * system's reason (a full disk, say); then nothing is left behind. */
lh_status lh_file_write_atomic(const char *path, const char *data, size_t size);
lh_status lh_folder_make(const char *path); /* with its parents; existing is fine */
bool lh_file_exists(const char *path);
/* FNV-1a over bytes, twice with different offsets: 32 hex digits into out (33 bytes). */
void lh_hash_hex(const char *bytes, size_t n, char out[33]);

#endif
