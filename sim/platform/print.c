/* print.c -- a resolved platform for people and for programs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sim/platform/fabric.h"
#include "sim/platform/parts.h"

/* ---- for people ------------------------------------------------------------------------------ */

static void print_cap(FILE *out, const char *of, double cap_Bps)
{
  char rate[80];
  if (isfinite(cap_Bps))
    fprintf(out, "%s at most %s for one flow\n", of, lh_rate_text(cap_Bps, rate, sizeof rate));
}

static const char *seconds(double s, char *buffer, size_t size)
{
  return s == 0 ? "0 s" : lh_format_s(buffer, size, s);
}

/* Links that may share a line: of equal figures, and names that start alike up to a number. */
static bool alike(const lh_link *a, const lh_link *b)
{
  const size_t stem = strcspn(a->name, "0123456789");
  return a->bandwidth_Bps == b->bandwidth_Bps && a->latency_s == b->latency_s &&
         a->shared == b->shared && strncmp(a->name, b->name, stem) == 0;
}

static void print_links(const lh_platform *platform, const char *title, size_t first, size_t end,
                        FILE *out)
{
  if (first == end)
    return;
  fprintf(out, "%s (%zu, each in one direction)\n", title, end - first);
  size_t lines = 0;
  for (size_t i = first; i < end;) {
    const lh_link *link = &platform->link[i];
    size_t next = i + 1;
    while (next < end && alike(link, &platform->link[next]))
      next++;
    if (lines++ == 40) {
      fprintf(out, "  ... and %zu more\n", end - i);
      return;
    }
    char rate[80], latency[40];
    fprintf(out, "  %s%s%s: %s, %s%s\n", link->name, next > i + 1 ? " ... " : "",
            next > i + 1 ? platform->link[next - 1].name : "",
            lh_rate_text(link->bandwidth_Bps, rate, sizeof rate),
            seconds(link->latency_s, latency, sizeof latency),
            link->shared ? "" : ", the full rate for every flow");
    i = next;
  }
}

static void print_device(const lh_platform *platform, FILE *out)
{
  const lh_device_profile *device = &platform->device;
  char memory[40], rate[40];
  fprintf(out, "device      %s%s", device->name,
          platform->device_given ? "" : " (none given: operations take no time)");
  if (device->memory_bytes > 0)
    fprintf(out, ", %s", lh_format_bytes(memory, sizeof memory, device->memory_bytes));
  if (platform->device_given)
    fprintf(out, ", memory at %s",
            lh_format_bytes_per_s(rate, sizeof rate, device->memory_bandwidth_Bps));
  fprintf(out, "\n");
}

static void print_size(const lh_platform *platform, FILE *out)
{
  const lh_interfaces *interfaces = platform->interfaces;
  fprintf(out, "platform    %s\n", platform->name);
  fprintf(out, "nodes       %zu of %zu accelerator%s: %zu ranks\n", platform->nodes,
          platform->accelerators_per_node, platform->accelerators_per_node == 1 ? "" : "s",
          platform->ranks);
  fprintf(out, "interfaces  %zu in %zu port%s", interfaces->count, interfaces->ports,
          interfaces->ports == 1 ? "" : "s");
  fprintf(out, "; accelerators take port%s", interfaces->ports == 1 ? "" : "s");
  for (size_t slot = 0; slot < platform->accelerators_per_node; slot++)
    if (slot == 0 || interfaces->ports > 1)
      fprintf(out, " %zu", interfaces->port_of_slot[slot]);
  fprintf(out, "%s\n", interfaces->through_fabric ? ", through the fabric" : "");
  if (platform->fabric)
    fprintf(out, "fabric      %s%s\n", platform->fabric->kind,
            platform->fabric_reduces ? ", reduces in the network" : "");
  fprintf(out, "network     %s%s%s%s\n", platform->topology, platform->network ? ": " : "",
          platform->network ? platform->network->title : "",
          platform->network_reduces ? ", reduces in the network" : "");
}

static bool is_block(const lh_platform *platform)
{
  for (size_t rank = 0; rank < platform->ranks; rank++)
    if (platform->node_of_rank[rank] != rank / platform->accelerators_per_node)
      return false;
  return true;
}

static void print_placement(const lh_platform *platform, FILE *out)
{
  fprintf(out, "placement   ");
  if (is_block(platform)) {
    fprintf(out, "node by node\n");
    return;
  }
  fprintf(out, "nodes of the ranks:");
  for (size_t rank = 0; rank < platform->ranks && rank < 64; rank++)
    fprintf(out, " %zu", platform->node_of_rank[rank]);
  fprintf(out, "%s\n", platform->ranks > 64 ? " ..." : "");
}

static void print_overheads(const lh_platform *platform, FILE *out)
{
  char text[40];
  if (platform->call_overhead_s > 0)
    fprintf(out, "overhead    %s for each collective call\n",
            lh_format_s(text, sizeof text, platform->call_overhead_s));
  if (platform->message_overhead_s > 0)
    fprintf(out, "overhead    %s for each message\n",
            lh_format_s(text, sizeof text, platform->message_overhead_s));
  print_cap(out, "cap         between nodes", platform->network_cap_Bps);
  if (platform->fabric)
    print_cap(out, "cap         inside a node", platform->fabric->cap_Bps);
}

static void print_variation(const lh_platform *platform, FILE *out)
{
  char text[200];
  if (platform->compute_variation.kind != LH_VARIATION_NONE)
    fprintf(out, "variation   compute time: %s\n",
            lh_variation_text(&platform->compute_variation, text, sizeof text));
  if (platform->latency_variation.kind != LH_VARIATION_NONE)
    fprintf(out, "variation   latency: %s\n",
            lh_variation_text(&platform->latency_variation, text, sizeof text));
  for (size_t i = 0; i < platform->nodes; i++)
    if (platform->node_speed[i] != 1) {
      fprintf(out, "speed       node %zu: %g, and so on\n", i, platform->node_speed[i]);
      break;
    }
}

static void print_faults(const lh_platform *platform, FILE *out)
{
  for (size_t i = 0; i < platform->faults; i++) {
    const lh_fault *fault = &platform->fault[i];
    char from[40], to[40], rate[80];
    fprintf(out, "fault       from %s to %s: ", seconds(fault->from_s, from, sizeof from),
            isfinite(fault->to_s) ? lh_format_s(to, sizeof to, fault->to_s) : "the end");
    if (fault->kind == LH_FAULT_NODE_DOWN)
      fprintf(out, "node %zu is down\n", fault->index);
    else
      fprintf(out, "link %s at %s\n", platform->link[fault->index].name,
              lh_rate_text(fault->bandwidth_Bps, rate, sizeof rate));
  }
}

static lh_status finished(FILE *out)
{
  if (fflush(out) != 0 || ferror(out))
    return lh_fail(LH_EIO, "platform: writing failed: %s", strerror(errno));
  return LH_OK;
}

lh_status lh_platform_print(const lh_platform *platform, FILE *out)
{
  const size_t inner = platform->fabric ? platform->fabric->base : platform->links;
  print_size(platform, out);
  print_device(platform, out);
  print_placement(platform, out);
  print_overheads(platform, out);
  print_variation(platform, out);
  print_faults(platform, out);
  if (platform->network) {
    fprintf(out, "\n");
    if (platform->nodes >= platform->network->draw_from) {
      platform->network->draw(platform, out);
      fprintf(out, "\n");
    }
  }
  print_links(platform, "links between nodes", 0, inner, out);
  print_links(platform, "links inside nodes", inner, platform->links, out);
  return finished(out);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static cJSON *links_json(const lh_platform *platform)
{
  cJSON *links = cJSON_CreateArray();
  for (size_t i = 0; i < platform->links; i++) {
    cJSON *link = cJSON_CreateObject();
    cJSON_AddStringToObject(link, "name", platform->link[i].name);
    cJSON_AddNumberToObject(link, "bandwidth_Bps", platform->link[i].bandwidth_Bps);
    cJSON_AddNumberToObject(link, "latency_s", platform->link[i].latency_s);
    cJSON_AddBoolToObject(link, "shared", platform->link[i].shared);
    cJSON_AddItemToArray(links, link);
  }
  return links;
}

static cJSON *sizes_json(const size_t *values, size_t n)
{
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; i < n; i++)
    cJSON_AddItemToArray(array, cJSON_CreateNumber((double)values[i]));
  return array;
}

static cJSON *variation_json(const lh_variation *variation)
{
  char text[200];
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "distribution", lh_variation_text(variation, text, sizeof text));
  cJSON_AddNumberToObject(object, "mean", lh_variation_mean(variation));
  cJSON_AddNumberToObject(object, "variance", lh_variation_variance(variation));
  return object;
}

static cJSON *faults_json(const lh_platform *platform)
{
  cJSON *faults = cJSON_CreateArray();
  for (size_t i = 0; i < platform->faults; i++) {
    const lh_fault *fault = &platform->fault[i];
    cJSON *object = cJSON_CreateObject();
    if (fault->kind == LH_FAULT_NODE_DOWN) {
      cJSON_AddNumberToObject(object, "node", (double)fault->index);
    } else {
      cJSON_AddStringToObject(object, "link", platform->link[fault->index].name);
      cJSON_AddNumberToObject(object, "bandwidth_Bps", fault->bandwidth_Bps);
    }
    cJSON_AddNumberToObject(object, "from_s", fault->from_s);
    cJSON_AddNumberToObject(object, "to_s", fault->to_s); /* infinity is written as null */
    cJSON_AddItemToArray(faults, object);
  }
  return faults;
}

static cJSON *platform_json(const lh_platform *platform)
{
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "name", platform->name);
  cJSON_AddStringToObject(root, "topology", platform->topology);
  cJSON_AddNumberToObject(root, "nodes", (double)platform->nodes);
  cJSON_AddNumberToObject(root, "accelerators_per_node", (double)platform->accelerators_per_node);
  cJSON_AddNumberToObject(root, "ranks", (double)platform->ranks);
  cJSON_AddStringToObject(root, "device", platform->device.name);
  cJSON_AddBoolToObject(root, "device_given", platform->device_given);
  cJSON_AddStringToObject(root, "fabric", platform->fabric ? platform->fabric->kind : "none");
  cJSON_AddNumberToObject(root, "interfaces", (double)platform->interfaces->count);
  cJSON_AddBoolToObject(root, "striping", platform->interfaces->striping);
  cJSON_AddNumberToObject(root, "call_overhead_s", platform->call_overhead_s);
  cJSON_AddNumberToObject(root, "message_overhead_s", platform->message_overhead_s);
  cJSON_AddNumberToObject(root, "flow_cap_Bps", platform->network_cap_Bps);
  cJSON_AddBoolToObject(root, "network_reduces", platform->network_reduces);
  cJSON_AddBoolToObject(root, "fabric_reduces", platform->fabric_reduces);
  cJSON_AddItemToObject(root, "compute_variation", variation_json(&platform->compute_variation));
  cJSON_AddItemToObject(root, "latency_variation", variation_json(&platform->latency_variation));
  cJSON_AddItemToObject(root, "node_of_rank", sizes_json(platform->node_of_rank, platform->ranks));
  cJSON_AddItemToObject(root, "slot_of_rank", sizes_json(platform->slot_of_rank, platform->ranks));
  cJSON_AddItemToObject(root, "node_speed",
                        cJSON_CreateDoubleArray(platform->node_speed, (int)platform->nodes));
  cJSON_AddItemToObject(root, "faults", faults_json(platform));
  cJSON_AddItemToObject(root, "links", links_json(platform));
  return root;
}

lh_status lh_platform_print_json(const lh_platform *platform, FILE *out)
{
  cJSON *root = platform_json(platform);
  char *text = cJSON_Print(root);
  cJSON_Delete(root);
  if (!text)
    return lh_fail(LH_ENOMEM, "platform: no memory");
  fprintf(out, "%s\n", text);
  cJSON_free(text);
  return finished(out);
}
