/* random_flows.h -- flows over random links, at random dates, some capped, several alike: for the
 * tests that compare sharing with another program. */
#ifndef LH_TESTS_RANDOM_FLOWS_H
#define LH_TESTS_RANDOM_FLOWS_H

#include <stdint.h>

#include "tests/net/net_message.h"

#define FLOWS 60
#define LINKS 12

/* Flows over random links of a bench without ends, at random dates, some capped, some ending alike.
 */
typedef struct random_flow {
  size_t links, link[4];
  double begin_s, bytes, cap_Bps;
  double left, rate, end_s; /* of the reference */
  message m;
} random_flow;

static inline double uniform(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}

static inline bool crosses(const random_flow *f, size_t link)
{
  for (size_t i = 0; i < f->links; i++)
    if (f->link[i] == link)
      return true;
  return false;
}

static inline void random_flows_make(uint64_t seed, random_flow *f, double *capacity)
{
  uint64_t state = seed;
  for (size_t l = 0; l < LINKS; l++)
    capacity[l] = l % 3 == 0 ? 1e6 : 1e6 * (0.2 + uniform(&state));
  for (size_t i = 0; i < FLOWS; i++) {
    f[i].links = 1 + (size_t)(uniform(&state) * 4);
    for (size_t j = 0; j < f[i].links; j++)
      do
        f[i].link[j] = (size_t)(uniform(&state) * LINKS);
      while (
          crosses(&(random_flow){.links = j,
                                 .link = {f[i].link[0], f[i].link[1], f[i].link[2], f[i].link[3]}},
                  f[i].link[j]));
    f[i].begin_s = i % 4 ? uniform(&state) : 0.25; /* several at once */
    f[i].bytes = i % 3 ? 1e5 * uniform(&state) : 5e4;
    f[i].cap_Bps = i % 5 ? INFINITY : 3e5 * uniform(&state);
  }
}

/* The random links as a platform: nodes 2i and 2i + 1 are joined by flow i's route. */
static inline lh_platform *random_platform(const random_flow *f, const double *capacity)
{
  static char links[20000], routes[20000];
  size_t a = 0, b = 0;
  for (size_t l = 0; l < LINKS; l++)
    a +=
        (size_t)snprintf(links + a, sizeof links - a, "%s{'name': 'l%zu', 'bandwidth': '%.17gB/s'}",
                         l ? ", " : "", l, capacity[l]);
  /* Every pair needs a way: a hub with links of its own, which no route below uses. */
  for (size_t node = 0; node < 2 * FLOWS; node++)
    a += (size_t)snprintf(links + a, sizeof links - a,
                          ", {'from': %zu, 'to': 'hub', 'bandwidth': '1B/s'}", node);
  for (size_t i = 0; i < FLOWS; i++) {
    b += (size_t)snprintf(routes + b, sizeof routes - b, "%s{'from': %zu, 'to': %zu, 'links': [",
                          i ? ", " : "", 2 * i, 2 * i + 1);
    for (size_t j = 0; j < f[i].links; j++)
      b += (size_t)snprintf(routes + b, sizeof routes - b, "%s'l%zu'", j ? ", " : "", f[i].link[j]);
    b += (size_t)snprintf(routes + b, sizeof routes - b, "]}");
  }
  return net_platform("{'name': 'random', 'nodes': %d, 'network': {'topology': 'custom', "
                      "'latency': '0s', 'links': [%s], 'routes': [%s]}}",
                      2 * FLOWS, links, routes);
}

#endif
