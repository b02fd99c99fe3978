/* export_xml.c -- a platform as SimGrid reads it: one zone of hosts, links and explicit routes.
 *
 * DTD 4.1 (SimGrid 3.32's manual, "XML reference"). The configuration says what the flow model
 * `ideal` is there: CM02 without cross traffic, TCP window and correction factors. A flow cap
 * becomes a link that is not shared (FATPIPE), which bounds every flow on its own.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "sim/platform/fabric.h"

#define MAX_RANKS 1024

/* Names come from files: what XML reserves is written as it wants it. */
static void write_text(const char *text, FILE *out)
{
  for (; *text; text++)
    switch (*text) {
    case '&':
      fputs("&amp;", out);
      break;
    case '<':
      fputs("&lt;", out);
      break;
    case '>':
      fputs("&gt;", out);
      break;
    case '"':
      fputs("&quot;", out);
      break;
    default:
      fputc(*text, out);
    }
}

static void write_head(FILE *out)
{
  fprintf(out, "<?xml version='1.0'?>\n"
               "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
               "<platform version=\"4.1\">\n"
               "  <config>\n"
               "    <prop id=\"network/model\" value=\"CM02\"/>\n"
               "    <prop id=\"network/crosstraffic\" value=\"0\"/>\n"
               "    <prop id=\"network/TCP-gamma\" value=\"0\"/>\n"
               "    <prop id=\"network/latency-factor\" value=\"1\"/>\n"
               "    <prop id=\"network/bandwidth-factor\" value=\"1\"/>\n"
               "    <prop id=\"network/weight-S\" value=\"0\"/>\n"
               "  </config>\n"
               "  <zone id=\"platform\" routing=\"Full\">\n");
}

static void write_host(const lh_platform *platform, size_t rank, FILE *out)
{
  const size_t node = platform->node_of_rank[rank];
  const double peak = platform->device.peak_flop_per_s[LH_F32];
  const double speed = (isfinite(peak) && peak > 0 ? peak : 1e9) * platform->node_speed[node];
  fprintf(out,
          "    <host id=\"rank-%zu\" speed=\"%.17gf\">\n"
          "      <prop id=\"node\" value=\"%zu\"/>\n"
          "      <prop id=\"accelerator\" value=\"%zu\"/>\n"
          "    </host>\n",
          rank, speed, node, platform->slot_of_rank[rank]);
}

static void write_link(const char *name, double bandwidth_Bps, double latency_s, bool shared,
                       FILE *out)
{
  fputs("    <link id=\"", out);
  write_text(name, out);
  fprintf(out, "\" bandwidth=\"%.17gBps\" latency=\"%.17gs\" sharing_policy=\"%s\"/>\n",
          bandwidth_Bps, latency_s, shared ? "SHARED" : "FATPIPE");
}

/* Caps in use, each once: names are "flow-cap-0", ... */
typedef struct flow_caps {
  size_t n;
  double rate_Bps[MAX_RANKS];
} flow_caps;

static size_t cap_index(flow_caps *caps, double rate_Bps)
{
  size_t i = 0;
  while (i < caps->n && caps->rate_Bps[i] != rate_Bps)
    i++;
  if (i == caps->n && i < MAX_RANKS)
    caps->rate_Bps[caps->n++] = rate_Bps;
  return i;
}

/* Calls visit for every ordered pair of ranks. */
static lh_status each_route(const lh_platform *platform, flow_caps *caps, FILE *out,
                            void (*visit)(const lh_platform *platform, size_t src, size_t dst,
                                          const lh_route *route, flow_caps *caps, FILE *out))
{
  for (size_t src = 0; src < platform->ranks; src++)
    for (size_t dst = 0; dst < platform->ranks; dst++) {
      lh_route route;
      if (src == dst)
        continue;
      LH_TRY(lh_platform_route(platform, src, dst, &route));
      visit(platform, src, dst, &route, caps, out);
    }
  return LH_OK;
}

static void note_cap(const lh_platform *platform, size_t src, size_t dst, const lh_route *route,
                     flow_caps *caps, FILE *out)
{
  (void)platform, (void)src, (void)dst, (void)out;
  if (isfinite(route->cap_Bps))
    cap_index(caps, route->cap_Bps);
}

static void write_route(const lh_platform *platform, size_t src, size_t dst, const lh_route *route,
                        flow_caps *caps, FILE *out)
{
  fprintf(out, "    <route src=\"rank-%zu\" dst=\"rank-%zu\" symmetrical=\"NO\">", src, dst);
  for (size_t i = 0; i < route->links; i++) {
    fputs("<link_ctn id=\"", out);
    write_text(platform->link[route->link[i]].name, out);
    fputs("\"/>", out);
  }
  if (isfinite(route->cap_Bps))
    fprintf(out, "<link_ctn id=\"flow-cap-%zu\"/>", cap_index(caps, route->cap_Bps));
  fputs("</route>\n", out);
}

lh_status lh_platform_export_xml(const lh_platform *platform, FILE *out)
{
  if (platform->ranks > MAX_RANKS)
    return lh_fail(LH_EUNSUPPORTED,
                   "platform %s: %zu ranks are too many for explicit routes, "
                   "allowed: at most %d",
                   platform->name, platform->ranks, MAX_RANKS);
  flow_caps caps = {0};
  LH_TRY(each_route(platform, &caps, out, note_cap));
  write_head(out);
  for (size_t rank = 0; rank < platform->ranks; rank++)
    write_host(platform, rank, out);
  for (size_t i = 0; i < platform->links; i++)
    write_link(platform->link[i].name, platform->link[i].bandwidth_Bps, platform->link[i].latency_s,
               platform->link[i].shared, out);
  for (size_t i = 0; i < caps.n; i++) {
    char name[40];
    snprintf(name, sizeof name, "flow-cap-%zu", i);
    write_link(name, caps.rate_Bps[i], 0, false, out);
  }
  LH_TRY(each_route(platform, &caps, out, write_route));
  fprintf(out, "  </zone>\n</platform>\n");
  if (fflush(out) != 0 || ferror(out))
    return lh_fail(LH_EIO, "platform: writing failed: %s", strerror(errno));
  return LH_OK;
}
