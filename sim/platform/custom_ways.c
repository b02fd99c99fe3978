/* custom_ways.c -- shortest ways through a custom network, one table of next arcs per destination.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/platform/custom.h"

lh_status lh_custom_add_arc(lh_custom_shape *custom, size_t from, size_t to, size_t link)
{
  const size_t n = custom->arcs;
  if ((n & (n - 1)) == 0) { /* the array holds a power of two */
    lh_custom_arc *grown = realloc(custom->arc, (n ? 2 * n : 1) * sizeof *grown);
    if (!grown)
      return lh_fail(LH_ENOMEM, "custom: no memory for %zu links", n);
    custom->arc = grown;
  }
  custom->arc[custom->arcs++] = (lh_custom_arc){from, to, link};
  return LH_OK;
}

/* Arcs by the vertex they end in: those of v are into[first[v]] .. into[first[v + 1] - 1]. */
typedef struct incoming {
  size_t *first; /* (vertices + 1) */
  size_t *into;  /* (arcs) in the order of the file */
  size_t *queue; /* (vertices) */
  double *latency_s;
} incoming;

static lh_status incoming_new(const lh_custom_shape *custom, incoming *in)
{
  const size_t vertices = custom->nodes + custom->switches;
  in->first = calloc(vertices + 2, sizeof *in->first);
  in->into = calloc(custom->arcs + 1, sizeof *in->into);
  in->queue = calloc(vertices, sizeof *in->queue);
  in->latency_s = calloc(vertices, sizeof *in->latency_s);
  if (!in->first || !in->into || !in->queue || !in->latency_s)
    return lh_fail(LH_ENOMEM, "custom: no memory for %zu links", custom->arcs);
  for (size_t i = 0; i < custom->arcs; i++)
    in->first[custom->arc[i].to + 2]++;
  for (size_t v = 0; v < vertices; v++)
    in->first[v + 2] += in->first[v + 1];
  for (size_t i = 0; i < custom->arcs; i++)
    in->into[in->first[custom->arc[i].to + 1]++] = i;
  return LH_OK;
}

static void incoming_free(incoming *in)
{
  free(in->first);
  free(in->into);
  free(in->queue);
  free(in->latency_s);
}

/* Breadth first, backwards from the destination. A vertex is settled when it leaves the queue: all
 * that are one link nearer have by then offered it their latency. */
static void ways_to(const lh_platform *platform, const lh_custom_shape *custom, incoming *in,
                    size_t to)
{
  const size_t vertices = custom->nodes + custom->switches;
  int *next = &custom->next_arc[to * vertices], *left = &custom->links_left[to * vertices];
  size_t head = 0, tail = 0;
  for (size_t v = 0; v < vertices; v++)
    next[v] = left[v] = -1;
  left[to] = 0;
  in->latency_s[to] = 0;
  in->queue[tail++] = to;
  while (head < tail) {
    const size_t at = in->queue[head++];
    for (size_t i = in->first[at]; i < in->first[at + 1]; i++) {
      const int arc = (int)in->into[i];
      const size_t from = custom->arc[arc].from;
      const double latency_s = in->latency_s[at] + platform->link[custom->arc[arc].link].latency_s;
      if (left[from] == -1) {
        left[from] = left[at] + 1;
        in->queue[tail++] = from;
      } else if (left[from] != left[at] + 1 || latency_s > in->latency_s[from] ||
                 (latency_s == in->latency_s[from] && arc > next[from])) {
        continue;
      }
      next[from] = arc;
      in->latency_s[from] = latency_s;
    }
  }
}

lh_status lh_custom_find_ways(const lh_platform *platform, lh_custom_shape *custom)
{
  const size_t entries = custom->nodes * (custom->nodes + custom->switches);
  incoming in = {0};
  custom->next_arc = calloc(entries, sizeof *custom->next_arc);
  custom->links_left = calloc(entries, sizeof *custom->links_left);
  if (!custom->next_arc || !custom->links_left)
    return lh_fail(LH_ENOMEM, "custom: no memory for %zu ways", entries);
  const lh_status status = incoming_new(custom, &in);
  for (size_t to = 0; status == LH_OK && to < custom->nodes; to++)
    ways_to(platform, custom, &in, to);
  incoming_free(&in);
  return status;
}

static const lh_custom_given *given_route(const lh_custom_shape *custom, size_t from, size_t to)
{
  if (!custom->given || !custom->given[from * custom->nodes + to].link)
    return NULL;
  return &custom->given[from * custom->nodes + to];
}

bool lh_custom_connected(const lh_custom_shape *custom, size_t from, size_t to)
{
  const size_t vertices = custom->nodes + custom->switches;
  return given_route(custom, from, to) || custom->links_left[to * vertices + from] >= 0;
}

size_t lh_custom_route_links(const lh_custom_shape *custom, size_t from, size_t to)
{
  const size_t vertices = custom->nodes + custom->switches;
  const lh_custom_given *given = given_route(custom, from, to);
  return given ? given->links : (size_t)custom->links_left[to * vertices + from];
}

void lh_custom_route(const lh_platform *platform, lh_port src, lh_port dst, lh_route *route)
{
  const lh_custom_shape *custom = platform->shape;
  const size_t vertices = custom->nodes + custom->switches;
  const lh_custom_given *given = given_route(custom, src.node, dst.node);
  if (given) {
    for (size_t i = 0; i < given->links; i++)
      lh_route_push(platform, given->link[i], route);
    return;
  }
  const int *next = &custom->next_arc[dst.node * vertices];
  for (size_t at = src.node; at != dst.node; at = custom->arc[next[at]].to)
    lh_route_push(platform, custom->arc[next[at]].link, route);
}

void lh_custom_free(void *shape)
{
  lh_custom_shape *custom = shape;
  if (!custom)
    return;
  for (size_t i = 0; i < custom->switches; i++)
    free(custom->switch_name[i]);
  for (size_t i = 0; custom->given && i < custom->nodes * custom->nodes; i++)
    free(custom->given[i].link);
  free(custom->switch_name);
  free(custom->arc);
  free(custom->given);
  free(custom->next_arc);
  free(custom->links_left);
  free(custom);
}
