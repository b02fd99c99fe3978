/* file.c -- the file helpers of text.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static lh_status read_all(int fd, const char *path, char **data, size_t *size)
{
  size_t capacity = 4096, length = 0;
  char *buffer = malloc(capacity);
  while (buffer) {
    if (length + 1 == capacity) {
      char *larger = realloc(buffer, capacity *= 2);
      if (!larger)
        break;
      buffer = larger;
    }
    const ssize_t n = read(fd, buffer + length, capacity - 1 - length);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      free(buffer);
      return errno == EISDIR ? lh_fail(LH_EINVAL, "%s: found a folder, allowed: a file", path)
                             : lh_fail(LH_EIO, "%s: reading failed: %s", path, strerror(errno));
    }
    if (n == 0) {
      buffer[length] = '\0';
      *data = buffer;
      *size = length;
      return LH_OK;
    }
    length += (size_t)n;
  }
  free(buffer);
  return lh_fail(LH_ENOMEM, "%s: no memory for its contents", path);
}

lh_status lh_file_read(const char *path, char **data, size_t *size)
{
  *data = NULL;
  *size = 0;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    const bool wrong = absent || errno == EACCES || errno == ENAMETOOLONG || errno == ELOOP;
    return lh_fail(wrong ? LH_EINVAL : LH_EIO, "%s: %s", *path ? path : "\"\"",
                   absent ? "no such file" : strerror(errno));
  }
  const lh_status status = read_all(fd, path, data, size);
  close(fd);
  return status;
}

/* 0 or the system's error number. */
static int write_all(int fd, const char *data, size_t size)
{
  while (size) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errno;
    data += n;
    size -= (size_t)n;
  }
  return fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

/* Each returns 0 or the system's error number. */
static int write_to(const char *path, int flags, const char *data, size_t size)
{
  const int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
  if (fd < 0)
    return errno;
  const int error = write_all(fd, data, size);
  return close(fd) != 0 && !error ? errno : error;
}

static int write_beside(const char *path, const char *data, size_t size)
{
  char *beside = lh_string_format("%s.tmp%ld", path, (long)getpid());
  if (!beside)
    return ENOMEM;
  int error = write_to(beside, O_CREAT | O_TRUNC, data, size);
  if (!error && rename(beside, path) != 0)
    error = errno;
  if (error)
    unlink(beside);
  free(beside);
  return error;
}

lh_status lh_file_write_atomic(const char *path, const char *data, size_t size)
{
  struct stat found;
  const bool exists = stat(path, &found) == 0;
  /* A pipe, a terminal or /dev/null stays what it is; a link goes on pointing to its file. */
  char *target = exists && S_ISREG(found.st_mode) ? realpath(path, NULL) : NULL;
  const int error = exists && !S_ISREG(found.st_mode)
                        ? write_to(path, 0, data, size)
                        : write_beside(target ? target : path, data, size);
  free(target);
  return error ? lh_fail(LH_EIO, "%s: writing failed: %s", path, strerror(error)) : LH_OK;
}

lh_status lh_folder_make(const char *path)
{
  char *part = lh_string_copy(path);
  if (!part)
    return lh_fail(LH_ENOMEM, "%s: no memory for its name", path);
  int error = 0;
  for (char *end = part; *end && !error; end++) {
    if (*end != '/' || end == part)
      continue;
    *end = '\0';
    if (mkdir(part, 0777) != 0 && errno != EEXIST)
      error = errno;
    *end = '/';
  }
  if (!error && mkdir(part, 0777) != 0 && errno != EEXIST)
    error = errno;
  free(part);
  struct stat found;
  if (!error && (stat(path, &found) != 0 || !S_ISDIR(found.st_mode)))
    error = ENOTDIR;
  return error ? lh_fail(LH_EIO, "%s: making the folder failed: %s", path, strerror(error)) : LH_OK;
}

bool lh_file_exists(const char *path)
{
  struct stat found;
  return stat(path, &found) == 0;
}
