/* kinds.h -- the data sources there are, one file each; lh_data_kinds (data.c) is their table. */
#ifndef LH_MODELS_DATA_KINDS_H
#define LH_MODELS_DATA_KINDS_H

#include "models/data.h"

extern const lh_data_kind lh_data_text;
extern const lh_data_kind lh_data_images;
extern const lh_data_kind lh_data_synthetic;

#endif
