#include "base/data_path.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* The folder `levels` above the running program, without a final slash; false if unknown. */
static bool program_folder(char *folder, size_t size, int levels)
{
  const ssize_t length = readlink("/proc/self/exe", folder, size - 1);
  if (length <= 0)
    return false;
  folder[length] = '\0';
  for (; levels > 0; levels--) {
    char *slash = strrchr(folder, '/');
    if (!slash)
      return false;
    *slash = '\0';
  }
  return true;
}

static bool try_root(const char *root, const char *relative, char *buffer, size_t size)
{
  snprintf(buffer, size, "%s/%s", root, relative);
  return lh_file_exists(buffer);
}

const char *lh_data_path(const char *relative, char *buffer, size_t size)
{
  const char *given = getenv("LONGHAUL_DATA");
  char above[4096], installed[4200];
  if (given && try_root(given, relative, buffer, size))
    return buffer;
  if (program_folder(above, sizeof above, 2)) {
    snprintf(installed, sizeof installed, "%s/share/longhaul", above);
    if (try_root(installed, relative, buffer, size) || try_root(above, relative, buffer, size))
      return buffer;
  }
  try_root(LH_SOURCE_DIR, relative, buffer, size);
  return buffer;
}
