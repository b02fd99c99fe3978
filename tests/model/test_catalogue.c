/* Sizes of the named models against figures printed elsewhere (the method pages, papers, published
 * checkpoints), which share nothing with the code that lays tensors out. */
#include "models/catalogue.h"
#include "tests/model/fixture.h"

static const struct {
  const char *name;
  size_t parameters, tensors; /* tensors 0: no figure */
  double nominal;             /* parameters 0: within 3 % of this, or 28 % for "1B" */
  double bound;
} figures[] = {
    {"gpt2-124m", 124439808, 148, 0, 0},
    {"gpt2-350m", 354823168, 292, 0, 0},
    {"gpt2-774m", 774030080, 436, 0, 0},
    {"gpt2-1.5b", 1557611200, 580, 0, 0},
    {"mpt-7b", 6658859008, 0, 0, 0},
    {"gpt-neo-125m", 124412160, 160, 0, 0},
    {"gpt-neo-2.7b", 2651307520, 420, 0, 0},
    {"llama-2-7b", 6738415616, 291, 0, 0},
    {"llama-2-13b", 13015864320, 363, 0, 0},
    {"llama-2-70b", 68976648192, 723, 0, 0},
    {"olmo2-1b", 1484916736, 0, 0, 0},
    {"olmo-300m", 319946752, 65, 0, 0},
    {"olmo-1b", 1176764416, 65, 0, 0},
    {"t5-small", 60506624, 131, 0, 0},
    {"t5-base", 222903552, 257, 0, 0},
    {"vit-b", 86381800, 0, 0, 0},
    {"noloco-small", 309876480, 0, 0, 0},
    {"noloco-medium", 2135009280, 0, 0, 0},
    {"noloco-large", 9638793216, 0, 0, 0},
    /* Only nominal sizes are published; the 1B's printed width gives 1.27e9. */
    {"streaming-diloco-1b", 0, 0, 1e9, 0.28},
    {"streaming-diloco-10b", 0, 0, 10e9, 0.03},
    {"streaming-diloco-100b", 0, 0, 100e9, 0.03},
};
enum { FIGURES = sizeof figures / sizeof *figures };

static void check_sizes(void)
{
  for (size_t i = 0; i < FIGURES; i++) {
    lh_json_document *document = NULL;
    lh_model *model = NULL;
    REQUIRE_OK(lh_catalogue_load(CATALOGUE, figures[i].name, (lh_json){0}, &document));
    REQUIRE_OK(lh_model_new(lh_json_root(document), "bf16", &model));
    const lh_layout *layout = &model->layout;
    if (figures[i].parameters)
      CHECK(layout->elements == figures[i].parameters, "%s: got %zu, expected %zu", figures[i].name,
            layout->elements, figures[i].parameters);
    else
      CHECK_NEAR((double)layout->elements / figures[i].nominal, 1, figures[i].bound, "%s",
                 figures[i].name);
    if (figures[i].tensors)
      CHECK(layout->parameters == figures[i].tensors, "%s: got %zu tensors, expected %zu",
            figures[i].name, layout->parameters, figures[i].tensors);
    lh_json_document_free(document);
    lh_model_free(model);
  }
}

static void check_entries(void)
{
  char **names = NULL;
  size_t count = 0;
  REQUIRE_OK(lh_catalogue_names(CATALOGUE, &names));
  for (; names[count]; count++) {
    size_t i = 0;
    while (i < FIGURES && strcmp(figures[i].name, names[count]))
      i++;
    CHECK(i < FIGURES, "%s has no figure in this test", names[count]);
    lh_json_document *document = NULL;
    const char *source = NULL, *title = NULL;
    size_t parameters = 0;
    REQUIRE_OK(lh_catalogue_load(CATALOGUE, names[count], (lh_json){0}, &document));
    REQUIRE_OK(lh_json_string(lh_json_get(lh_json_root(document), "source"), &source));
    REQUIRE_OK(lh_json_string(lh_json_get(lh_json_root(document), "title"), &title));
    REQUIRE_OK(lh_json_size_value(lh_json_get(lh_json_root(document), "parameters"), 1, SIZE_MAX,
                                  &parameters));
    lh_json_document_free(document);
  }
  CHECK(count == FIGURES, "%zu entries for %d figures", count, FIGURES);
  lh_catalogue_free_names(names);
}

/* DeToNATION's units of T5 base: an encoder block, the first one with its position biases, and the
 * same of the decoder, as printed per rank of four (flexdemo page). */
static void check_t5_blocks(void)
{
  lh_json_document *document = NULL;
  lh_model *model = NULL;
  REQUIRE_OK(lh_catalogue_load(CATALOGUE, "t5-base", (lh_json){0}, &document));
  REQUIRE_OK(lh_model_new(lh_json_root(document), "f32", &model));
  const size_t layers[] = {1, 2, 13, 14, 0},
               shards[] = {1769952, 1769856, 2359968, 2359872, 6168960};
  for (int i = 0; i < 5; i++) {
    size_t elements = model->layout.layer[layers[i]].elements;
    if (layers[i] == 0) /* the root unit also holds the head's norm */
      elements += model->layout.layer[model->layout.layers - 1].elements;
    CHECK(elements == 4 * shards[i], "layer %zu: got %zu, expected %zu", layers[i], elements,
          4 * shards[i]);
  }
  lh_json_document_free(document);
  lh_model_free(model);
}

/* Options of the GPT that no entry uses: 2 V C + T C + L (12 C^2 + 2 C) + C, without any bias. */
static void check_options(void)
{
  lh_json_document *document = NULL;
  lh_model *model = NULL;
  const lh_json spec = fixture_json(
      &document, "{\"kind\": \"gpt\", \"depth\": 3, \"width\": 20, \"heads\": 5,"
                 "\"vocabulary\": 31, \"context\": 17, \"bias\": false, \"tied\": false}");
  REQUIRE_OK(lh_model_new(spec, "f32", &model));
  const size_t expected = 2 * 31 * 20 + 17 * 20 + 3 * (12 * 400 + 2 * 20) + 20;
  CHECK(model->layout.elements == expected && model->layout.parameters == 2 + 3 * 6 + 2,
        "got %zu, expected %zu", model->layout.elements, expected);
  lh_model_free(model);
  lh_json_document_free(document);
}

static void check_wrong_size(void)
{
  lh_json_document *document = NULL;
  lh_model *model = NULL;
  const lh_json spec = fixture_json(
      &document, "{\"kind\": \"gpt\", \"parameters\": 124439807, \"depth\": 12, \"width\": 768,"
                 "\"heads\": 12, \"vocabulary\": 50257, \"context\": 1024}");
  CHECK(lh_model_new(spec, "f32", &model) == LH_EINVAL && strstr(lh_fail_text(), "124439808"),
        "a wrong count passes: %s", lh_fail_text());
  lh_json_document_free(document);
}

static void check_print(void)
{
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  REQUIRE_OK(lh_catalogue_print(CATALOGUE, NULL, out));
  REQUIRE_OK(lh_catalogue_print(CATALOGUE, "gpt2-124m", out));
  fclose(out);
  CHECK(strstr(text, "124439808") && strstr(text, "llama-2-70b") && strstr(text, "quadratic"),
        "the table lacks something:\n%s", text);
  CHECK(strstr(text, "block11.feed_forward.down.bias"), "the tensors are missing");
  free(text);
}

int main(void)
{
  check_sizes();
  check_entries();
  check_t5_blocks();
  check_options();
  check_wrong_size();
  check_print();
  return check_report("catalogue");
}
