/* plot.h -- the pictures of an experiment, from its result files.
 *
 *   loss-*             loss against virtual time, one line per method, one panel per platform
 *   step-time-*        predicted wall-clock per step against node count, a panel per bandwidth
 *   step-bandwidth-*   the same against bandwidth, a panel per node count
 * One set per workload, or per part where two parts hold the same scenario. What varies beside
 * method and x makes panels; at most LH_PLOT_PANELS go on one picture, further ones on NAME-2, ...
 */
#ifndef LH_ANALYSIS_PLOT_H
#define LH_ANALYSIS_PLOT_H

#include "base/status.h"
#include "base/text.h"

#define LH_PLOT_PANELS 6

/* Draws into FOLDER/plots from FOLDER/results. *paths: the pictures, one a line; the caller frees it.
 * LH_EINVAL when there are no results, or nothing in them that could be drawn. */
lh_status lh_plot_experiment(const char *folder, lh_text *paths);

/* One sentence per training part: which method reaches the target loss first, on what, and the next
 * best method on the same platform. Empty when no scenario has a target. The caller frees it. */
lh_status lh_fastest_to_target(const char *folder, lh_text *sentences);

#endif
