/* data_path.h -- where the shipped data files are: device profiles, model catalogue, platforms. */
#ifndef LH_BASE_DATA_PATH_H
#define LH_BASE_DATA_PATH_H

#include <stddef.h>

/* The full path of a shipped file or folder such as "platforms/devices", in `buffer`, which is
 * returned. Looked for below the environment's LONGHAUL_DATA, below the folder above the running
 * program's (a build folder in the source tree, or PREFIX/bin with PREFIX/share/longhaul), and in the
 * source tree it was built from; the first that exists, else the last. */
const char *lh_data_path(const char *relative, char *buffer, size_t size);

#endif
