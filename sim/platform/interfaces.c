/* interfaces.c -- which port of the network an accelerator's traffic takes. */
#include "sim/platform/interfaces.h"

#include <stdint.h>
#include <string.h>

static const char *const keys[] = {"count", "serves", "striping", "through_fabric", NULL};

/* served[i]: bit s is set when interface i serves accelerator s. */
typedef struct service {
  uint32_t served[LH_MAX_INTERFACES];
} service;

static lh_status read_subset(lh_json node, size_t accelerators, uint32_t *served)
{
  LH_TRY(lh_json_expect_array(node));
  if (lh_json_size(node) == 0)
    return lh_json_fail(node, "found an empty list, allowed: the accelerators it serves");
  *served = 0;
  for (size_t i = 0; i < lh_json_size(node); i++) {
    size_t slot;
    LH_TRY(lh_json_size_value(lh_json_at(node, i), 0, accelerators - 1, &slot));
    if (*served & (uint32_t)1 << slot)
      return lh_json_fail(lh_json_at(node, i), "found %zu twice, allowed: each accelerator once",
                          slot);
    *served |= (uint32_t)1 << slot;
  }
  return LH_OK;
}

static lh_status read_subsets(lh_json node, lh_json count, size_t accelerators,
                              lh_interfaces *interfaces, service *service)
{
  const size_t n = lh_json_size(node);
  if (n < 1 || n > LH_MAX_INTERFACES)
    return lh_json_fail(node, "found a list of %zu, allowed: 1 to %d interfaces", n,
                        LH_MAX_INTERFACES);
  if (lh_json_present(count) && interfaces->count != n)
    return lh_json_fail(count, "found %zu, allowed: %zu, as serves lists the accelerators of %zu",
                        interfaces->count, n, n);
  interfaces->count = n;
  for (size_t i = 0; i < n; i++)
    LH_TRY(read_subset(lh_json_at(node, i), accelerators, &service->served[i]));
  return LH_OK;
}

static lh_status serve_blocks(lh_json count, size_t accelerators, lh_interfaces *interfaces,
                              service *service)
{
  if (!lh_json_present(count))
    interfaces->count = accelerators;
  const size_t n = interfaces->count;
  if (n % accelerators != 0 && accelerators % n != 0)
    return lh_json_fail(count,
                        "found %zu, allowed: a divisor or a multiple of the %zu accelerators when "
                        "serves is \"accelerator\"",
                        n, accelerators);
  for (size_t i = 0; i < n; i++)
    for (size_t slot = 0; slot < accelerators; slot++)
      if (n >= accelerators ? i / (n / accelerators) == slot : slot / (accelerators / n) == i)
        service->served[i] |= (uint32_t)1 << slot;
  return LH_OK;
}

static void serve_all(size_t accelerators, const lh_interfaces *interfaces, service *service)
{
  for (size_t i = 0; i < interfaces->count; i++)
    service->served[i] = ((uint32_t)1 << accelerators) - 1;
}

static lh_status read_service(lh_json node, size_t accelerators, lh_interfaces *interfaces,
                              service *service)
{
  static const char *const names[] = {"shared", "accelerator", NULL};
  const lh_json serves = lh_json_get(node, "serves"), count = lh_json_get(node, "count");
  LH_TRY(lh_json_size_or(count, 1, LH_MAX_INTERFACES, 1, &interfaces->count));
  if (cJSON_IsArray(serves.node))
    return read_subsets(serves, count, accelerators, interfaces, service);
  size_t choice;
  LH_TRY(lh_json_choice_or(serves, names, 0, &choice));
  if (choice == 1)
    return serve_blocks(count, accelerators, interfaces, service);
  serve_all(accelerators, interfaces, service);
  return LH_OK;
}

/* Bundles interfaces that serve the same accelerators; a bundle that shares only some of its
 * accelerators with another would be no link of a fixed rate. */
static lh_status stripe(lh_json node, const service *service, lh_interfaces *interfaces,
                        size_t *port_of_interface)
{
  uint32_t served[LH_MAX_INTERFACES] = {0};
  for (size_t i = 0; i < interfaces->count; i++) {
    size_t port = 0;
    while (port < interfaces->ports && served[port] != service->served[i]) {
      if (served[port] & service->served[i])
        return lh_json_fail(node,
                            "found true with interfaces that share some accelerators but not all, "
                            "allowed: interfaces that serve the same accelerators or none in "
                            "common");
      port++;
    }
    if (port == interfaces->ports)
      served[interfaces->ports++] = service->served[i];
    interfaces->bundled[port]++;
    port_of_interface[i] = port;
  }
  return LH_OK;
}

lh_status lh_interfaces_read(lh_json node, size_t accelerators, lh_interfaces *interfaces)
{
  service service = {0};
  *interfaces = (lh_interfaces){.count = 1};
  if (lh_json_present(node))
    LH_TRY(lh_json_check_keys(node, keys));
  LH_TRY(read_service(node, accelerators, interfaces, &service));
  const lh_json striping = lh_json_get(node, "striping");
  LH_TRY(lh_json_bool_or(striping, false, &interfaces->striping));
  LH_TRY(lh_json_bool_or(lh_json_get(node, "through_fabric"), false, &interfaces->through_fabric));

  size_t port_of_interface[LH_MAX_INTERFACES] = {0};
  if (interfaces->striping)
    LH_TRY(stripe(striping, &service, interfaces, port_of_interface));
  else
    for (; interfaces->ports < interfaces->count; interfaces->ports++) {
      port_of_interface[interfaces->ports] = interfaces->ports;
      interfaces->bundled[interfaces->ports] = 1;
    }

  for (size_t slot = 0; slot < accelerators; slot++) {
    size_t serving[LH_MAX_INTERFACES], n = 0;
    for (size_t i = 0; i < interfaces->count; i++)
      if (service.served[i] & (uint32_t)1 << slot)
        serving[n++] = port_of_interface[i];
    if (n == 0)
      return lh_json_fail(lh_json_get(node, "serves"),
                          "found no interface for accelerator %zu, allowed: every accelerator of "
                          "0..%zu in at least one list",
                          slot, accelerators - 1);
    interfaces->port_of_slot[slot] = serving[slot % n];
  }
  return LH_OK;
}
