#include "models/layout.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static lh_status format_name(char **name, const char *format, va_list arguments)
{
  *name = NULL;
  if (vasprintf(name, format, arguments) < 0) {
    *name = NULL;
    return lh_fail(LH_ENOMEM, "layout: no memory for a name");
  }
  return LH_OK;
}

/* Room for one more element; capacities are powers of two, so that no second counter is kept. */
static lh_status grow(void **array, size_t count, size_t element_bytes)
{
  if (count & (count - 1)) /* not 0 and not a power of two: there is room */
    return LH_OK;
  void *larger = realloc(*array, (count ? 2 * count : 1) * element_bytes);
  if (!larger)
    return lh_fail(LH_ENOMEM, "layout: no memory for %zu entries", 2 * count);
  *array = larger;
  return LH_OK;
}

lh_status lh_layout_open_layer(lh_layout *layout, const char *format, ...)
{
  LH_TRY(grow((void **)&layout->layer, layout->layers, sizeof *layout->layer));
  lh_layer *layer = &layout->layer[layout->layers];
  *layer = (lh_layer){.first_parameter = layout->parameters, .offset = layout->elements};
  va_list arguments;
  va_start(arguments, format);
  const lh_status status = format_name(&layer->name, format, arguments);
  va_end(arguments);
  LH_TRY(status);
  layout->layers++;
  return LH_OK;
}

void lh_layout_mark_outside(lh_layout *layout)
{
  layout->layer[layout->layers - 1].outside = true;
}

lh_status lh_layout_add(lh_layout *layout, const lh_parameter_spec *spec, size_t *index,
                        const char *format, ...)
{
  LH_TRY(grow((void **)&layout->parameter, layout->parameters, sizeof *layout->parameter));
  lh_layer *layer = &layout->layer[layout->layers - 1];
  lh_parameter *parameter = &layout->parameter[layout->parameters];
  *parameter = (lh_parameter){.layer = layout->layers - 1,
                              .offset = layer->elements,
                              .elements = 1,
                              .dims = spec->dims,
                              .deviation = spec->deviation,
                              .fill = spec->fill};
  for (int d = 0; d < spec->dims; d++) {
    parameter->shape[d] = spec->shape[d];
    parameter->elements *= spec->shape[d];
  }
  va_list arguments;
  va_start(arguments, format);
  const lh_status status = format_name(&parameter->name, format, arguments);
  va_end(arguments);
  LH_TRY(status);
  if (index)
    *index = layout->parameters;
  layout->parameters++;
  layer->parameters++;
  layer->elements += parameter->elements;
  layout->elements += parameter->elements;
  return LH_OK;
}

void lh_layout_fini(lh_layout *layout)
{
  for (size_t i = 0; i < layout->layers; i++)
    free(layout->layer[i].name);
  for (size_t i = 0; i < layout->parameters; i++)
    free(layout->parameter[i].name);
  free(layout->layer);
  free(layout->parameter);
  *layout = (lh_layout){.dtype = layout->dtype};
}

lh_tensor lh_layout_view(const lh_layout *layout, const lh_tensor *layers, size_t parameter)
{
  const lh_parameter *p = &layout->parameter[parameter];
  return lh_tensor_view(&layers[p->layer], p->offset, p->dims, p->shape);
}
