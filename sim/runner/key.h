/* key.h -- the name of a scenario: a hash of everything that determines its result.
 *
 * That is its canonical text (so neither the order of keys nor spaces matter), the contents of the
 * files it names, directly or through a platform file, and the program's version. Where the files
 * lie does not count, only what is in them.
 */
#ifndef LH_SIM_KEY_H
#define LH_SIM_KEY_H

#include "base/json.h"

typedef struct lh_key_cache lh_key_cache; /* contents already hashed; data sets are large */

lh_key_cache *lh_key_cache_new(void); /* NULL: no memory */
void lh_key_cache_free(lh_key_cache *cache);

/* 32 hex digits. A named file that does not exist counts as empty: reading it properly is for
 * whoever needs it. LH_ENOMEM, LH_EIO. */
lh_status lh_scenario_key(lh_json scenario, lh_key_cache *cache, char key[33]);

#endif
