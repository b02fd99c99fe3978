/* engine.cpp -- the one file that knows SimGrid (and the one in C++).
 *
 * SimGrid keeps the clock and switches between actors. Under `ideal` our own flows (flows.h) take
 * part in its event loop as one more kernel model: CM02, its plain flow model, shares a link in
 * inverse proportion to the flows' latencies, counts whole bytes, and ends everything that is due
 * within 10 us at once, while the closed forms of the collectives need latency, then plain max-min
 * sharing. Under `tcp` messages are SimGrid's own flows under its calibrated model LV08. Their route
 * is ours in both cases: a zone whose routing function answers with the route of the message that is
 * being started, so that hosts and tables of pairs need not exist.
 *
 * C++ exceptions stay in here. The simulation is left in the middle (deadlock, abort) by one that
 * passes through SimGrid's loop and is caught in lh_engine_run; the actors stay where they are.
 */
#include "sim/net/engine.h"

#include <cmath>
#include <csignal>
#include <new>
#include <vector>

#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#include <xbt/log.h>

extern "C" {
#include "sim/net/fault_dates.h"
#include "sim/net/flows.h"
}

namespace s4u = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

extern "C" const char *const lh_flow_model_names[] = {"ideal", "tcp", nullptr};

namespace
{

/* LV08 lets payload have 97 % of a link, for headers. A window counts payload only, so it is given
 * to SimGrid enlarged by what LV08 is going to take off: window / round trip then holds exactly. */
constexpr double lv08_bandwidth_factor = 0.97;
constexpr double lv08_latency_factor = 13.01;

/* Flows with a cap of their own cross a link that limits each flow; SimGrid makes links only before
 * the start, so some are made then and given their rates when a cap is first seen. */
constexpr size_t tcp_caps = 32;

struct stopped {
};

/* SimGrid's routes are what the engine says they are: of the message that starts, and of the
 * acknowledgements that LV08 lets flow against it. */
struct zone final : routing::NetZoneImpl {
  std::vector<simgrid::kernel::resource::StandardLinkImpl *> forth, back;
  double latency_s = 0.0; /* forth */
  const routing::NetPoint *sender = nullptr;

  explicit zone(const std::string &name) : NetZoneImpl(name)
  {
  }
  void get_local_route(const routing::NetPoint *src, const routing::NetPoint *,
                       routing::Route *into, double *latency) override
  {
    into->link_list_ = src == sender ? forth : back;
    if (latency)
      *latency += latency_s;
  }
  void get_graph(const s_xbt_graph_t *, std::map<std::string, xbt_node_t, std::less<>> *,
                 std::map<std::string, xbt_edge_t, std::less<>> *) override
  {
  }
};

s4u::Host *add_host(s4u::NetZone *zone, const char *name)
{
#if SIMGRID_VERSION >= 40000
  return zone->add_host(name, 1e9);
#else
  return zone->create_host(name, 1e9);
#endif
}

s4u::Link *add_link(s4u::NetZone *zone, const std::string &name, double bandwidth_Bps)
{
#if SIMGRID_VERSION >= 40000
  return zone->add_link(name, bandwidth_Bps);
#else
  return zone->create_link(name, bandwidth_Bps);
#endif
}

void add_actor(const char *name, s4u::Host *host, const std::function<void()> &code)
{
#if SIMGRID_VERSION >= 40100
  host->add_actor(name, code);
#elif SIMGRID_VERSION >= 40000
  s4u::Engine::add_actor(name, host, code);
#else
  s4u::Actor::create(name, host, code);
#endif
}

} // namespace

struct lh_engine {
  const lh_platform *platform;
  lh_engine_options options;
  lh_flows flows; /* under tcp: timers only */
  lh_fault_dates faults;
  s4u::Engine *simgrid;
  zone *network;
  s4u::Host *host, *other;       /* every actor's host; the other end of every tcp flow */
  std::vector<s4u::Link *> link; /* tcp: the platform's links */
  std::vector<s4u::Link *> cap_link;
  std::vector<double> cap_Bps;     /* of the cap links in use */
  uint64_t messages;               /* so far */
  std::vector<double> sent_bytes;  /* (2 ranks) so far, by rank: to other nodes, inside the node */
  size_t actors;                   /* that have not ended */
  size_t tcp_flows;                /* in SimGrid's hands */
  std::vector<s4u::CommPtr> ended; /* tcp flows that SimGrid may still be talking about */
  lh_status status;
};

/* ---- events ------------------------------------------------------------------------------------- */

namespace
{

void set_bandwidth(lh_engine *engine, size_t link, double bandwidth_Bps)
{
  lh_flows_set_bandwidth(&engine->flows, link, bandwidth_Bps);
  if (engine->options.flow_model == LH_FLOW_TCP)
    engine->link[link]->set_bandwidth(bandwidth_Bps);
}

void apply_faults(lh_engine *engine, double now_s)
{
  size_t link;
  double bandwidth_Bps;
  while (lh_fault_dates_take(&engine->faults, now_s, &link, &bandwidth_Bps))
    set_bandwidth(engine, link, bandwidth_Bps);
}

/* Our part of SimGrid's loop: it asks for the delay to our next event, and says when time has gone
 * on; what is due then happens inside update_actions_state. */
struct clockwork final : simgrid::kernel::resource::Model {
  lh_engine *engine;

  explicit clockwork(lh_engine *e) : Model("longhaul"), engine(e)
  {
  }

  double next_occurring_event(double now_s) override
  {
    if (!engine)
      return -1.0;
    if (engine->status != LH_OK)
      throw stopped();
    double next_s = lh_flows_next_s(&engine->flows, now_s);
    if (engine->flows.agenda.size || engine->tcp_flows)
      next_s = std::fmin(next_s, lh_fault_dates_next_s(&engine->faults));
    if (engine->flows.out_of_memory) {
      engine->status = lh_fail(LH_ENOMEM, "network: no memory for its flows");
      throw stopped();
    }
    if (std::isfinite(next_s))
      return std::fmax(0.0, next_s - now_s);
    if (engine->actors && !engine->tcp_flows) {
      engine->status = lh_fail(LH_EDEADLOCK, "%zu ranks wait at %g s, with nothing to come",
                               engine->actors, now_s);
      throw stopped();
    }
    return -1.0;
  }

  void update_actions_state(double now_s, double) override
  {
    if (!engine)
      return;
    apply_faults(engine, now_s);
    void (*done)(void *arg);
    void *arg;
    while (engine->status == LH_OK && lh_flows_take(&engine->flows, now_s, &done, &arg))
      done(arg);
  }
};

/* ---- tcp ---------------------------------------------------------------------------------------- */

struct tcp_message {
  lh_engine *engine;
  size_t src_rank, dst_rank;
  double bytes, cap_Bps, latency_factor;
  void (*done)(void *arg);
  void *arg;
  s4u::CommPtr comm; /* SimGrid does not hold it for us */
};

s4u::Link *cap_link(lh_engine *engine, double cap_Bps)
{
  for (size_t i = 0; i < engine->cap_Bps.size(); i++)
    if (engine->cap_Bps[i] == cap_Bps)
      return engine->cap_link[i];
  if (engine->cap_Bps.size() == tcp_caps)
    return nullptr;
  s4u::Link *link = engine->cap_link[engine->cap_Bps.size()];
  link->set_bandwidth(cap_Bps);
  engine->cap_Bps.push_back(cap_Bps);
  return link;
}

lh_status tcp_links(const lh_engine *engine, size_t src_rank, size_t dst_rank, lh_route *route,
                    std::vector<simgrid::kernel::resource::StandardLinkImpl *> &links)
{
  LH_TRY(lh_platform_route(engine->platform, src_rank, dst_rank, route));
  links.clear();
  for (size_t i = 0; i < route->links; i++)
    links.push_back(engine->link[route->link[i]]->get_impl());
  return LH_OK;
}

lh_status tcp_route(const tcp_message *message)
{
  lh_engine *engine = message->engine;
  zone *network = engine->network;
  lh_route route;
  LH_TRY(tcp_links(engine, message->dst_rank, message->src_rank, &route, network->back));
  LH_TRY(tcp_links(engine, message->src_rank, message->dst_rank, &route, network->forth));
  network->latency_s = route.latency_s * message->latency_factor;
  const double cap_Bps = std::fmin(route.cap_Bps, message->cap_Bps);
  if (std::isinf(cap_Bps))
    return LH_OK;
  s4u::Link *link = cap_link(engine, cap_Bps);
  if (!link)
    return lh_fail(LH_EUNSUPPORTED, "network: tcp flows have more than %zu different caps",
                   tcp_caps);
  network->forth.push_back(link->get_impl());
  return LH_OK;
}

void tcp_done(tcp_message *message)
{
  message->engine->tcp_flows--;
  void (*done)(void *arg) = message->done;
  void *arg = message->arg;
  message->engine->ended.push_back(std::move(message->comm));
  delete message;
  done(arg);
}

/* A timer's function: the overheads are over, SimGrid takes the message. */
void tcp_begin(void *arg)
{
  auto *message = static_cast<tcp_message *>(arg);
  const lh_status status = tcp_route(message);
  if (status != LH_OK) {
    lh_engine_abort(message->engine, status);
    delete message;
    return;
  }
  message->engine->ended.clear();
  s4u::CommPtr comm = s4u::Comm::sendto_init(message->engine->host, message->engine->other);
  comm->set_payload_size(static_cast<uint64_t>(std::fmax(1.0, std::ceil(message->bytes))));
  comm->set_data(message);
  message->engine->tcp_flows++;
  message->comm = comm;
  comm->start();
}

void watch_tcp()
{
#if SIMGRID_VERSION >= 33400
  s4u::Comm::on_completion_cb([](s4u::Comm const &comm) {
    if (auto *message = comm.get_data<tcp_message>())
      tcp_done(message);
  });
#else
  s4u::Activity::on_completion_cb([](s4u::Activity const &activity) {
    const auto *comm = dynamic_cast<const s4u::Comm *>(&activity);
    if (auto *message = comm ? comm->get_data<tcp_message>() : nullptr)
      tcp_done(message);
  });
#endif
}

void tcp_send(lh_engine *engine, const tcp_message &message, double delay_s)
{
  auto *copy = new (std::nothrow) tcp_message(message);
  if (copy)
    lh_engine_after_s(engine, delay_s, tcp_begin, copy);
  else
    lh_engine_abort(engine, lh_fail(LH_ENOMEM, "network: no memory for another message"));
}

/* ---- opening ------------------------------------------------------------------------------------ */

/* SimGrid takes SIGINT for itself; who runs us decides what an interruption means. */
s4u::Engine *start_simgrid()
{
  char name[] = "longhaul", silent[] = "--log=root.thresh:critical";
  char keep[] = "--cfg=debug/clean-atexit:no";
  char stack[] = "--cfg=contexts/stack-size:1024"; /* KiB; OpenBLAS puts little on it */
#ifdef __SANITIZE_ADDRESS__
  char factory[] = "--cfg=contexts/factory:thread"; /* the sanitizer knows threads' stacks */
  stack[sizeof stack - 5] = '4';
#else
  char factory[] = "--cfg=contexts/factory:raw";
#endif
  char *argv[] = {name, silent, keep, stack, factory, nullptr};
  int argc = 5;
  struct sigaction interrupt;
  sigaction(SIGINT, nullptr, &interrupt);
  auto *simgrid = new s4u::Engine(&argc, argv);
  sigaction(SIGINT, &interrupt, nullptr);
  return simgrid;
}

void configure_tcp(double window_bytes)
{
  s4u::Engine::set_config("network/model:LV08");
  s4u::Engine::set_config("network/TCP-gamma", window_bytes / lv08_bandwidth_factor);
}

void make_tcp_links(lh_engine *engine, s4u::NetZone *network)
{
  for (size_t l = 0; l < engine->platform->links; l++) {
    const lh_link *ours = &engine->platform->link[l];
    s4u::Link *link = add_link(network, std::to_string(l), ours->bandwidth_Bps);
    if (!ours->shared)
      link->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
    engine->link.push_back(link->seal());
  }
  for (size_t i = 0; i < tcp_caps; i++) {
    s4u::Link *link = add_link(network, "cap-" + std::to_string(i), 1.0);
    link->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
    engine->cap_link.push_back(link->seal());
  }
}

void build(lh_engine *engine)
{
  engine->simgrid = start_simgrid();
  const bool tcp = engine->options.flow_model == LH_FLOW_TCP;
  if (tcp)
    configure_tcp(engine->options.tcp_window_bytes);
#if SIMGRID_VERSION >= 40000
  s4u::NetZone *root = engine->simgrid->get_netzone_root();
  engine->network = new zone("network");
  engine->network->set_parent(root->get_impl());
#else
  engine->network = new zone("network");
#endif
  s4u::NetZone *network = engine->network->get_iface();
  engine->host = add_host(network, "ranks");
  engine->other = add_host(network, "others");
  engine->network->sender = engine->host->get_netpoint();
  if (tcp) {
    make_tcp_links(engine, network);
    watch_tcp();
  }
  network->seal();
  engine->simgrid->add_model(std::make_shared<clockwork>(engine));
}

} // namespace

extern "C" lh_status lh_engine_open_with(const lh_platform *platform,
                                         const lh_engine_options *options, lh_engine **opened)
{
  if (s4u::Engine::is_initialized())
    return lh_fail(LH_EINTERNAL, "network: SimGrid allows one simulation per process");
  auto *engine = new (std::nothrow) lh_engine{};
  if (!engine)
    return lh_fail(LH_ENOMEM, "network: no memory for an engine");
  engine->platform = platform;
  engine->options = *options;
  if (!(engine->options.tcp_window_bytes > 0.0))
    engine->options.tcp_window_bytes = LH_TCP_WINDOW_BYTES;
  engine->sent_bytes.resize(2 * platform->ranks);
  lh_status status = lh_flows_init(&engine->flows, platform);
  if (status == LH_OK)
    status = lh_fault_dates_init(&engine->faults, platform);
  try {
    if (status == LH_OK)
      build(engine);
  } catch (const std::exception &e) {
    status = lh_fail(LH_EINTERNAL, "network: SimGrid: %s", e.what());
  }
  if (status == LH_OK)
    *opened = engine;
  else
    lh_engine_close(engine);
  return status;
}

extern "C" lh_status lh_engine_open(const lh_platform *platform, lh_flow_model model, uint64_t seed,
                                    lh_engine **engine)
{
  const lh_engine_options options = {model, seed, LH_TCP_WINDOW_BYTES};
  return lh_engine_open_with(platform, &options, engine);
}

/* SimGrid itself lives until the process ends: actors may still sit on its stacks. */
extern "C" void lh_engine_close(lh_engine *engine)
{
  if (!engine)
    return;
  if (engine->simgrid)
    for (auto *model : engine->simgrid->get_all_models())
      if (auto *ours = dynamic_cast<clockwork *>(model))
        ours->engine = nullptr;
  lh_flows_fini(&engine->flows);
  lh_fault_dates_fini(&engine->faults);
  delete engine;
}

/* ---- actors ------------------------------------------------------------------------------------- */

extern "C" lh_status lh_engine_spawn(lh_engine *engine, const char *name, void (*run)(void *arg),
                                     void *arg)
{
  try {
    add_actor(name, engine->host, [engine, run, arg] {
      run(arg);
      engine->actors--;
    });
  } catch (const std::exception &e) {
    return lh_fail(LH_ENOMEM, "network: actor %s: %s", name, e.what());
  }
  engine->actors++;
  return LH_OK;
}

extern "C" lh_status lh_engine_run(lh_engine *engine)
{
  try {
    engine->simgrid->run();
  } catch (const stopped &) {
    return engine->status;
  } catch (const std::exception &e) {
    return lh_fail(LH_EINTERNAL, "network: SimGrid: %s", e.what());
  }
  return engine->status;
}

extern "C" double lh_engine_now_s(const lh_engine *)
{
  return s4u::Engine::get_clock();
}

extern "C" const lh_platform *lh_engine_platform(const lh_engine *engine)
{
  return engine->platform;
}

extern "C" void lh_engine_abort(lh_engine *engine, lh_status status)
{
  if (engine->status == LH_OK)
    engine->status = status;
}

struct lh_gate {
  s4u::SemaphorePtr semaphore;
  size_t waiting;
};

extern "C" lh_gate *lh_gate_new(lh_engine *)
{
  return new (std::nothrow) lh_gate{s4u::Semaphore::create(0), 0};
}

extern "C" void lh_gate_free(lh_gate *gate)
{
  /* An actor of a simulation that was left in the middle still waits: SimGrid would not have it. */
  if (gate->waiting == 0)
    delete gate;
}

extern "C" void lh_gate_wait(lh_gate *gate)
{
  gate->waiting++;
  gate->semaphore->acquire();
  gate->waiting--;
}

extern "C" void lh_gate_open(lh_gate *gate)
{
  gate->semaphore->release();
}

extern "C" void lh_engine_sleep_s(lh_engine *engine, double seconds)
{
  lh_gate gate{s4u::Semaphore::create(0), 0};
  lh_engine_after_s(
      engine, seconds, [](void *arg) { lh_gate_open(static_cast<lh_gate *>(arg)); }, &gate);
  lh_gate_wait(&gate);
}

/* ---- messages ----------------------------------------------------------------------------------- */

extern "C" void lh_engine_after_s(lh_engine *engine, double delay_s, void (*fire)(void *arg),
                                  void *arg)
{
  const lh_status status = lh_flows_send(&engine->flows, s4u::Engine::get_clock() + delay_s,
                                         nullptr, 0.0, INFINITY, fire, arg);
  if (status != LH_OK)
    lh_engine_abort(engine, status);
}

/* What is sent while either end is down begins when both are up; what is in flight arrives. */
static double node_delay_s(const lh_engine *engine, size_t src_rank, size_t dst_rank)
{
  const lh_platform *platform = engine->platform;
  const double now_s = s4u::Engine::get_clock();
  const size_t src = platform->node_of_rank[src_rank], dst = platform->node_of_rank[dst_rank];
  double up_s = now_s, before_s;
  do {
    before_s = up_s;
    up_s = lh_node_up_s(platform, dst, lh_node_up_s(platform, src, up_s));
  } while (up_s > before_s);
  return up_s - now_s;
}

extern "C" void lh_engine_send(lh_engine *engine, size_t src_rank, size_t dst_rank, double bytes,
                               double delay_s, double cap_Bps, void (*done)(void *arg), void *arg)
{
  if (src_rank == dst_rank) {
    lh_engine_after_s(engine, delay_s, done, arg);
    return;
  }
  const lh_platform *platform = engine->platform;
  engine->sent_bytes[2 * src_rank + lh_platform_same_node(platform, src_rank, dst_rank)] += bytes;
  if (platform->faults)
    delay_s += node_delay_s(engine, src_rank, dst_rank);
  const double factor = lh_variation_draw(&platform->latency_variation, engine->options.seed,
                                          LH_PURPOSE_LATENCY, engine->messages++, src_rank);
  if (engine->options.flow_model == LH_FLOW_TCP) {
    tcp_send(engine, {engine, src_rank, dst_rank, bytes, cap_Bps, factor, done, arg, nullptr},
             delay_s);
    return;
  }
  lh_route route;
  lh_status status = lh_platform_route(platform, src_rank, dst_rank, &route);
  if (status == LH_OK)
    status = lh_flows_send(&engine->flows,
                           s4u::Engine::get_clock() + (delay_s + route.latency_s * factor), &route,
                           bytes, std::fmin(cap_Bps, route.cap_Bps), done, arg);
  if (status != LH_OK)
    lh_engine_abort(engine, status);
}

extern "C" double lh_engine_latency_s(const lh_engine *engine, size_t src_rank, size_t dst_rank)
{
  lh_route route;
  if (src_rank == dst_rank ||
      lh_platform_route(engine->platform, src_rank, dst_rank, &route) != LH_OK)
    return 0.0;
  return engine->options.flow_model == LH_FLOW_TCP ? lv08_latency_factor * route.latency_s
                                                   : route.latency_s;
}

extern "C" void lh_engine_sent_bytes(const lh_engine *engine, size_t rank, double *inter_bytes,
                                     double *intra_bytes)
{
  *inter_bytes = engine->sent_bytes[2 * rank];
  *intra_bytes = engine->sent_bytes[2 * rank + 1];
}
