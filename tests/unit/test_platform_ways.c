/* test_platform_ways.c -- does a way lead where it should, and is it the shortest?
 *
 * The judge is a graph that the test draws itself: from the names of the links and the definition
 * of the topology it knows which two places a link joins. A route is walked on it, link by link,
 * and its length is compared with a breadth-first search that knows nothing of routes.
 */
#include "tests/unit/platform_case.h"

#define MAX_PLACES 4096

typedef struct graph {
  const lh_platform *p;
  char *place[MAX_PLACES]; /* nodes are "n0".. and come first */
  size_t places;
  size_t *from, *to; /* (links) */
  /* of the topology, filled by the case */
  size_t dims[6], dimensions, terminals_below[8], copies[8], children[8], parents[8];
} graph;

static size_t place(graph *g, const char *name)
{
  for (size_t i = 0; i < g->places; i++)
    if (strcmp(g->place[i], name) == 0)
      return i;
  if (g->places == MAX_PLACES) {
    fprintf(stderr, "too many places\n");
    exit(1);
  }
  g->place[g->places] = lh_string_copy(name);
  return g->places++;
}

static size_t switch_place(graph *g, size_t level, size_t number)
{
  char name[64];
  snprintf(name, sizeof name, "level-%zu.switch-%zu", level, number);
  return place(g, name);
}

/* ---- what joins what ------------------------------------------------------------------------- */

static size_t neighbour(const graph *g, size_t node, size_t d)
{
  size_t stride = 1;
  for (size_t i = 0; i < d; i++)
    stride *= g->dims[i];
  const size_t at = node / stride % g->dims[d];
  return node + ((at + 1) % g->dims[d]) * stride - at * stride;
}

static void join(graph *g, size_t link, size_t a, size_t b, bool forth)
{
  g->from[link] = forth ? a : b;
  g->to[link] = forth ? b : a;
}

static void read_name(graph *g, size_t link)
{
  const char *name = g->p->link[link].name;
  char axis;
  size_t a, b, port;
  const bool forth = strstr(name, ".forth") || strstr(name, ".up");
  if (sscanf(name, "level-%zu.switch-%zu.port-%zu", &a, &b, &port) == 3) {
    const size_t subtree = b / g->copies[a], copy = b % g->copies[a];
    join(g, link, switch_place(g, a, b),
         switch_place(g, a + 1,
                      subtree / g->children[a + 1] * g->copies[a + 1] + copy + g->copies[a] * port),
         forth);
  } else if (sscanf(name, "node-%zu.node-%zu.", &a, &b) == 2) {
    join(g, link, a, b, forth);
  } else if (sscanf(name, "node-%zu.ring.%c", &a, &axis) == 2) {
    join(g, link, a, (a + 1) % g->p->nodes, forth);
  } else if (sscanf(name, "node-%zu.%c.", &a, &axis) == 2 && strchr("xyzuvw", axis) &&
             (strstr(name, ".forth") || strstr(name, ".back"))) {
    join(g, link, a, neighbour(g, a, (size_t)(strchr("xyzuvw", axis) - "xyzuvw")), forth);
  } else if (sscanf(name, "node-%zu.", &a) == 1) {
    join(g, link, a, switch_place(g, 1, g->children[1] ? a / g->children[1] : 0), forth);
  } else {
    CHECK(false, "a link called %s", name);
  }
}

static graph *graph_new(const lh_platform *p)
{
  graph *g = calloc(1, sizeof *g);
  g->p = p;
  for (size_t i = 0; i < p->nodes; i++) {
    char name[32];
    snprintf(name, sizeof name, "n%zu", i);
    place(g, name);
  }
  g->from = calloc(p->links + 1, sizeof *g->from);
  g->to = calloc(p->links + 1, sizeof *g->to);
  return g;
}

static void graph_free(graph *g)
{
  for (size_t i = 0; i < g->places; i++)
    free(g->place[i]);
  free(g->from);
  free(g->to);
  free(g);
}

/* Links from `src` to everywhere, by breadth-first search over the list of links. */
static void distances(const graph *g, size_t src, size_t *distance)
{
  for (size_t i = 0; i < g->places; i++)
    distance[i] = SIZE_MAX;
  distance[src] = 0;
  for (size_t round = 0, changed = 1; changed; round++) {
    changed = 0;
    for (size_t l = 0; l < g->p->links; l++)
      if (distance[g->from[l]] == round && distance[g->to[l]] == SIZE_MAX) {
        distance[g->to[l]] = round + 1;
        changed = 1;
      }
  }
}

static void check_ways(graph *g, const char *what)
{
  const lh_platform *p = g->p;
  size_t distance[MAX_PLACES];
  for (size_t l = 0; l < p->links; l++)
    read_name(g, l);
  for (size_t src = 0; src < p->nodes; src++) {
    distances(g, src, distance);
    for (size_t dst = 0; dst < p->nodes; dst++) {
      if (src == dst)
        continue;
      const lh_route route = case_route(p, src, dst);
      size_t at = src;
      for (size_t i = 0; i < route.links; i++) {
        CHECK(g->from[route.link[i]] == at, "%s: %zu -> %zu: %s does not start at %s", what, src,
              dst, p->link[route.link[i]].name, g->place[at]);
        at = g->to[route.link[i]];
      }
      CHECK(at == dst, "%s: the way %zu -> %zu ends at %s", what, src, dst, g->place[at]);
      CHECK(route.links == distance[dst], "%s: %zu -> %zu takes %zu links, %zu are enough", what,
            src, dst, route.links, distance[dst]);
    }
  }
}

static const size_t sizes[] = {2, 3, 5, 6, 7, 12, 48, 100};
#define SIZES (sizeof sizes / sizeof *sizes)

static void flat(const char *topology)
{
  for (size_t i = 0; i < SIZES; i++) {
    char text[200];
    snprintf(text, sizeof text,
             "{'nodes': %zu, 'network': {'topology': '%s', 'bandwidth': '1Gbps'}}", sizes[i],
             topology);
    lh_platform *p = case_platform(text);
    graph *g = graph_new(p);
    check_ways(g, topology);
    graph_free(g);
    lh_platform_free(p);
  }
}

static void torus(const char *how, size_t dimensions, const size_t *dims)
{
  char text[200];
  size_t nodes = 1;
  for (size_t d = 0; d < dimensions; d++)
    nodes *= dims[d];
  snprintf(text, sizeof text,
           "{'nodes': %zu, 'network': {'topology': 'torus', 'bandwidth': '1Gbps', %s}}", nodes,
           how);
  lh_platform *p = case_platform(text);
  graph *g = graph_new(p);
  g->dimensions = dimensions;
  memcpy(g->dims, dims, dimensions * sizeof *dims);
  check_ways(g, how);
  graph_free(g);
  lh_platform_free(p);
}

static void tori(void)
{
  torus("'dims': [4, 3]", 2, (size_t[]){4, 3});
  torus("'dims': [5, 7]", 2, (size_t[]){5, 7});
  torus("'dims': [2, 2, 2]", 3, (size_t[]){2, 2, 2});
  torus("'dims': [4, 1, 6]", 3, (size_t[]){4, 1, 6});
  torus("'dims': [3, 4, 5]", 3, (size_t[]){3, 4, 5});
  torus("'dims': [2, 3, 2, 3]", 4, (size_t[]){2, 3, 2, 3});
  torus("'dims': [2, 1, 3, 2, 2, 3]", 6, (size_t[]){2, 1, 3, 2, 2, 3});
  /* Split as equally as the number allows, the smaller factor first. */
  torus("'dimensions': 2", 2, (size_t[]){6, 8});
  torus("'dimensions': 3", 3, (size_t[]){4, 5, 5});
  torus("'dimensions': 2", 2, (size_t[]){1, 7});
}

/* m: children of a switch, w: parents, [1..levels]. */
static void fat_tree(const char *how, size_t nodes, size_t levels, const size_t *m, const size_t *w)
{
  char text[300];
  snprintf(text, sizeof text,
           "{'nodes': %zu, 'network': {'topology': 'fat-tree', 'bandwidth': '1Gbps', %s}}", nodes,
           how);
  lh_platform *p = case_platform(text);
  graph *g = graph_new(p);
  g->copies[0] = 1;
  for (size_t l = 1; l <= levels; l++) {
    g->children[l] = m[l - 1];
    g->copies[l] = g->copies[l - 1] * w[l - 1];
  }
  check_ways(g, how);
  graph_free(g);
  lh_platform_free(p);
}

static void fat_trees(void)
{
  fat_tree("'arity': 4", 16, 2, (size_t[]){4, 4}, (size_t[]){1, 4});
  fat_tree("'arity': 4", 17, 3, (size_t[]){4, 4, 4}, (size_t[]){1, 4, 4});
  fat_tree("'arity': [3, 5]", 13, 2, (size_t[]){3, 5}, (size_t[]){1, 3});
  fat_tree("'arity': [6, 8], 'oversubscription': 3", 48, 2, (size_t[]){6, 8}, (size_t[]){1, 2});
  fat_tree("'arity': [5, 5], 'uplinks': 1", 25, 2, (size_t[]){5, 5}, (size_t[]){1, 1});
  fat_tree("'k': 4", 16, 3, (size_t[]){2, 2, 4}, (size_t[]){1, 2, 2});
  fat_tree("'k': 6", 50, 3, (size_t[]){3, 3, 6}, (size_t[]){1, 3, 3});
  fat_tree("'arity': 16, 'levels': 1", 12, 1, (size_t[]){16}, (size_t[]){1});
  fat_tree("'arity': [2, 3, 2, 3], 'uplinks': [2, 1, 3]", 36, 4, (size_t[]){2, 3, 2, 3},
           (size_t[]){1, 2, 1, 3});
}

/* ---- dragonfly: where a long cable ends is found out by following routes ----------------------- */

typedef struct fly {
  size_t groups, routers, terminals;
  size_t end[64][64][8][2]; /* [low][high][which]: router + 1 in the low and the high group */
} fly;

static void end_of_cable(fly *f, size_t low, size_t high, size_t which, size_t side, size_t router)
{
  size_t *end = &f->end[low][high][which][side];
  CHECK(*end == 0 || *end == router + 1, "cable %zu of groups %zu, %zu ends at routers %zu and %zu",
        which, low, high, *end - 1, router);
  *end = router + 1;
}

/* Follows a route; a long cable starts where the last hop led, and ends where the next one starts. */
static void follow(fly *f, const lh_platform *p, size_t src, size_t dst)
{
  const lh_route route = case_route(p, src, dst);
  size_t at = src / f->terminals, a, b, group, which, crossed = 0, locals = 0;
  const size_t to = dst / f->terminals, n = f->routers;
  for (size_t i = 1; i + 1 < route.links; i++) {
    const char *name = p->link[route.link[i]].name;
    const bool forth = strstr(name, ".forth") != NULL;
    if (sscanf(name, "group-%zu.router-%zu.router-%zu", &group, &a, &b) == 3) {
      CHECK(at == group * n + (forth ? a : b), "%zu -> %zu: %s", src, dst, name);
      at = group * n + (forth ? b : a);
      locals++;
    } else if (sscanf(name, "group-%zu.group-%zu.cable-%zu", &a, &b, &which) == 3) {
      CHECK(at / n == (forth ? a : b), "%zu -> %zu: %s is not of group %zu", src, dst, name,
            at / n);
      end_of_cable(f, a, b, which, forth ? 0 : 1, at % n);
      /* The next hop, if local, says where this one ends; else it ends at the destination. */
      size_t landing = to % n, c, d;
      if (i + 2 < route.links) {
        const char *next = p->link[route.link[i + 1]].name;
        sscanf(next, "group-%zu.router-%zu.router-%zu", &group, &c, &d);
        landing = strstr(next, ".forth") ? c : d;
      }
      end_of_cable(f, a, b, which, forth ? 1 : 0, landing);
      at = (forth ? b : a) * n + landing;
      crossed++;
    } else {
      CHECK(false, "%zu -> %zu passes %s", src, dst, name);
    }
  }
  CHECK(at == to, "%zu -> %zu ends at router %zu, not %zu", src, dst, at, to);
  CHECK(crossed == (src / f->terminals / n != dst / f->terminals / n),
        "%zu -> %zu crosses %zu times", src, dst, crossed);
  CHECK(locals <= 1 + crossed, "%zu -> %zu takes %zu local hops", src, dst, locals);
}

static void dragonfly(const char *how, size_t nodes, fly f, size_t per_router)
{
  char text[300];
  snprintf(text, sizeof text,
           "{'nodes': %zu, 'network': {'topology': 'dragonfly', 'bandwidth': '1Gbps' %s}}", nodes,
           how);
  lh_platform *p = case_platform(text);
  for (size_t src = 0; src < nodes; src++)
    for (size_t dst = 0; dst < nodes; dst++)
      if (src != dst)
        follow(&f, p, src, dst);
  size_t held[64][64] = {{0}}; /* long cables that end at [group][router] */
  for (size_t a = 0; a < f.groups; a++)
    for (size_t b = a + 1; b < f.groups; b++)
      for (size_t which = 0; which < 8; which++)
        for (size_t side = 0; side < 2; side++)
          if (f.end[a][b][which][side])
            held[side ? b : a][f.end[a][b][which][side] - 1]++;
  for (size_t a = 0; a < f.groups; a++)
    for (size_t r = 0; r < f.routers; r++)
      CHECK(held[a][r] <= per_router, "%s: router %zu of group %zu holds %zu long cables", how, r,
            a, held[a][r]);
  lh_platform_free(p);
}

static void dragonflies(void)
{
  /* balanced: a = 2p, g = 2p^2 + 1, and p long cables at each router */
  dragonfly("", 6, (fly){.groups = 3, .routers = 2, .terminals = 1}, 1);
  dragonfly("", 72, (fly){.groups = 9, .routers = 4, .terminals = 2}, 2);
  dragonfly("", 100, (fly){.groups = 19, .routers = 6, .terminals = 3}, 3);
  dragonfly(", 'groups': 5, 'routers': 3, 'terminals': 4", 60,
            (fly){.groups = 5, .routers = 3, .terminals = 4}, 2);
  dragonfly(", 'groups': 3, 'routers': 4, 'terminals': 2, 'global_links': 4", 24,
            (fly){.groups = 3, .routers = 4, .terminals = 2}, 2);
  dragonfly(", 'groups': 1, 'routers': 5, 'terminals': 2", 10,
            (fly){.groups = 1, .routers = 5, .terminals = 2}, 0);
}

/* Which of several ways that are as long: as the files of the topologies say. */
static void choices(void)
{
  lh_platform *p =
      case_platform("{'nodes': 4, 'network': {'topology': 'ring', 'bandwidth': '1Gbps'}}");
  CHECK_ROUTE(p, 0, 2, "node-0.ring.forth node-1.ring.forth"); /* clockwise, both ways */
  CHECK_ROUTE(p, 2, 0, "node-2.ring.forth node-3.ring.forth");
  CHECK_ROUTE(p, 3, 2, "node-2.ring.back");
  lh_platform_free(p);
  p = case_platform("{'nodes': 6, 'network': {'topology': 'torus', 'dims': [3, 2],"
                    "'bandwidth': '1Gbps'}}");
  CHECK_ROUTE(p, 0, 4, "node-0.x.forth node-1.y.forth"); /* x first */
  CHECK_ROUTE(p, 4, 0, "node-3.x.back node-3.y.forth");
  lh_platform_free(p);
  /* 9 groups of 4 routers: group 0's cables to 1, 2 are at router 0, to 3, 4 at router 1, ... */
  p = case_platform("{'nodes': 72, 'network': {'topology': 'dragonfly', 'bandwidth': '1Gbps'}}");
  CHECK_ROUTE(p, 0, 2 * 8,
              "node-0.up group-0.group-2.cable-0.forth group-2.router-0.router-3.back "
              "node-16.down");
  CHECK_ROUTE(p, 0, 3 * 8 + 1,
              "node-0.up group-0.router-0.router-1.forth group-0.group-3.cable-0.forth "
              "group-3.router-0.router-2.back node-25.down");
  lh_platform_free(p);
  /* Each port of a full mesh or a ring is a network of its own. */
  p = case_platform("{'nodes': 3, 'accelerators_per_node': 2, 'network': {'topology': 'full-mesh',"
                    "'bandwidth': '1Gbps'}, 'interfaces': {'serves': 'accelerator'},"
                    "'fabric': {'bandwidth': '1GB/s'}}");
  CHECK_ROUTE(p, 0, 2, "node-0.nic-0.node-1.forth");
  CHECK_ROUTE(p, 1, 2, "node-0.nic-1.node-1.forth");
  CHECK_ROUTE(p, 5, 3, "node-1.nic-1.node-2.back");
  lh_platform_free(p);
}

int main(void)
{
  choices();
  flat("star");
  flat("full-mesh");
  flat("ring");
  tori();
  fat_trees();
  dragonflies();
  return check_report("platform ways");
}
