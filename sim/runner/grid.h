/* grid.h -- an experiment file, expanded to its scenarios.
 *
 *   {"schema": "longhaul/experiment/1", "title", "description",
 *    "platform": {...}, "workload": {...}, "methods": [{"name": ..., options}, ...], "run": {...},
 *    "parts": [{"name": "train", any of the four, merged over the top level's}, ...]}
 *
 * Any value, anywhere, may be {"sweep": [...]} or {"range": {...}} (sweep.h). The grid is the
 * product of them all and of the methods. Its order: parts as they are listed; within a part, the
 * sweeps and "methods" in the order in which the file has them, the first varying slowest. A sweep
 * inside one method's options multiplies that method only. Without "parts" there is one, unnamed.
 */
#ifndef LH_SIM_GRID_H
#define LH_SIM_GRID_H

#include "base/json.h"
#include "sim/runner/key.h"

#define LH_GRID_MOST_POINTS 100000

typedef struct lh_grid_point {
  lh_json_document *document; /* {"platform", "workload", "method", "run"}; errors name the
                                 experiment file, and relative paths start at its folder */
  cJSON *columns;             /* object: "part" if named, then swept path -> value */
  char *label;                /* "train ddp platform.nodes=4", for people and for --only */
  char key[33];
} lh_grid_point;

typedef struct lh_grid {
  char *folder; /* of the experiment, with a final '/' */
  char *title;  /* "" if none */
  size_t points;
  lh_grid_point *point; /* (points) in grid order */
} lh_grid;

/* `path`: the experiment's folder, or its JSON file. LH_EINVAL with file and JSON path of the
 * mistake. Free with lh_grid_fini, also after a failure. */
lh_status lh_grid_read(const char *path, lh_grid *grid);
void lh_grid_fini(lh_grid *grid);

/* A cell's text: strings as they are, numbers in shortest form, the rest as JSON. malloced. */
char *lh_cell_text(const cJSON *value);

#endif
