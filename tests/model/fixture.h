/* fixture.h -- a model on a device with flat parameters and gradients, from a line of JSON. */
#ifndef LH_TESTS_MODEL_FIXTURE_H
#define LH_TESTS_MODEL_FIXTURE_H

#include "models/model.h"
#include "models/workload.h"
#include "tests/check.h"

#define CATALOGUE LH_SOURCE_DIR "/models/catalogue"

typedef struct fixture {
  lh_json_document *document;
  lh_workload workload;
  const lh_model *model;
  lh_device_profile profile;
  lh_device *device;
  lh_tensor parameters, gradients; /* flat */
  lh_tensor *layer, *dlayer;       /* views per layer */
  lh_batch batch;
} fixture;

static inline lh_json fixture_json(lh_json_document **document, const char *text)
{
  REQUIRE_OK(lh_json_read_text("test", text, document));
  return lh_json_root(*document);
}

/* text: a workload object. The device borrows the profile, so a fixture does not move. */
static inline void fixture_open(fixture *f, const char *text, const lh_backend *backend,
                                bool with_data, uint64_t seed)
{
  *f = (fixture){0};
  const lh_json node = fixture_json(&f->document, text);
  REQUIRE_OK(lh_workload_read(node, CATALOGUE, with_data, &f->workload));
  f->model = f->workload.model;
  f->profile = lh_device_profile_ideal();
  REQUIRE_OK(lh_device_open(backend, &f->profile, &f->device));
  const lh_layout *layout = &f->model->layout;
  f->layer = calloc(layout->layers, sizeof *f->layer);
  f->dlayer = calloc(layout->layers, sizeof *f->dlayer);
  REQUIRE_OK(
      lh_tensor_alloc_1d(f->device, &f->parameters, "parameters", layout->dtype, layout->elements));
  REQUIRE_OK(
      lh_tensor_alloc_1d(f->device, &f->gradients, "gradients", layout->dtype, layout->elements));
  lh_model_layer_views(f->model, &f->parameters, f->layer);
  lh_model_layer_views(f->model, &f->gradients, f->dlayer);
  REQUIRE_OK(lh_model_start(f->model, f->layer, seed));
  REQUIRE_OK(lh_batch_alloc(f->model, f->device, f->workload.micro_batch_sequences,
                            f->workload.sequence_tokens, &f->batch));
}

static inline void fixture_close(fixture *f)
{
  lh_batch_free(&f->batch);
  lh_tensor_free(&f->parameters);
  lh_tensor_free(&f->gradients);
  free(f->layer);
  free(f->dlayer);
  lh_device_close(f->device);
  lh_workload_fini(&f->workload);
  lh_json_document_free(f->document);
  lh_device_profile_fini(&f->profile);
}

static inline double *fixture_values(const lh_tensor *tensor)
{
  const size_t n = lh_tensor_elements(tensor);
  double *values = calloc(n ? n : 1, sizeof *values);
  REQUIRE_OK(lh_tensor_get(tensor, values, n));
  return values;
}

#endif
