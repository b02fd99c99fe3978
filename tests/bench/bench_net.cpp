/* bench_net.cpp -- host seconds of simulated ring all-reduces, as ratios to a rival: the same ring
 * written plainly on SimGrid's S4U mailboxes, an actor per rank, on a plain star platform with CM02
 * and the settings that make it exact.
 *
 *     bench_net [RANKS] [FLUID_RANKS] [REPEATS]      512, 4096 and 3 by default
 *
 * Every measurement runs in a process of its own; best and median of the repeats are printed.
 */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <simgrid/s4u.hpp>
#include <simgrid/version.h>

#include "sim/net/collective.h"

namespace s4u = simgrid::s4u;

static constexpr double bytes = 100e6, bandwidth_Bps = 125e6, latency_s = 50e-6;

struct result {
  double host_s, virtual_s;
};

/* ---- the rival ---------------------------------------------------------------------------------- */

static double rival_end_s;

static void rival_rank(s4u::Mailbox *mine, s4u::Mailbox *next, size_t rounds, uint64_t chunk)
{
  static int payload;
  for (size_t round = 0; round < rounds; round++) {
    void *got;
    s4u::CommPtr receive = mine->get_async<void>(&got);
    s4u::CommPtr send = next->put_async(&payload, chunk);
    send->wait();
    receive->wait();
  }
  rival_end_s = std::max(rival_end_s, s4u::Engine::get_clock());
}

static result rival(size_t n, size_t rounds)
{
  const auto begin = std::chrono::steady_clock::now();
  char name[] = "rival", log[] = "--log=root.thresh:critical";
  char *argv[] = {name, log, nullptr};
  int argc = 2;
  s4u::Engine engine(&argc, argv);
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("network/TCP-gamma:0");
#if SIMGRID_VERSION >= 40000
  auto *star = engine.get_netzone_root()->add_netzone_star("star");
#else
  auto *star = s4u::create_star_zone("star");
#endif
  std::vector<s4u::Host *> host;
  for (size_t i = 0; i < n; i++) {
    const std::string number = std::to_string(i);
#if SIMGRID_VERSION >= 40000
    host.push_back(star->add_host(number, 1e9));
    auto *link = star->add_split_duplex_link("link-" + number, bandwidth_Bps);
#else
    host.push_back(star->create_host(number, 1e9));
    auto *link = star->create_split_duplex_link("link-" + number, bandwidth_Bps);
#endif
    link->set_latency(latency_s)->seal();
#if SIMGRID_VERSION >= 33600
    star->add_route(host[i], nullptr, {{link, s4u::LinkInRoute::Direction::UP}}, true);
#else
    star->add_route(host[i]->get_netpoint(), nullptr, nullptr, nullptr,
                    {{link, s4u::LinkInRoute::Direction::UP}}, true);
#endif
  }
  star->seal();
  std::vector<s4u::Mailbox *> box;
  for (size_t i = 0; i < n; i++)
    box.push_back(s4u::Mailbox::by_name(std::to_string(i)));
  const auto chunk = static_cast<uint64_t>(std::llround(bytes / double(n)));
  for (size_t i = 0; i < n; i++) {
    const auto code = [=] { rival_rank(box[i], box[(i + 1) % n], rounds, chunk); };
#if SIMGRID_VERSION >= 40100
    host[i]->add_actor("rank", code);
#elif SIMGRID_VERSION >= 40000
    engine.add_actor("rank", host[i], code);
#else
    s4u::Actor::create("rank", host[i], code);
#endif
  }
  engine.run();
  const std::chrono::duration<double> host_s = std::chrono::steady_clock::now() - begin;
  return {host_s.count(), rival_end_s};
}

/* ---- ours --------------------------------------------------------------------------------------- */

struct ours_state {
  lh_engine *engine;
  size_t left;
  double end_s;
};

static void ours_done(void *arg, size_t)
{
  auto *state = static_cast<ours_state *>(arg);
  if (--state->left == 0)
    state->end_s = lh_engine_now_s(state->engine);
}

[[noreturn]] static void stop()
{
  std::fprintf(stderr, "bench_net: %s\n", lh_fail_text());
  std::exit(1);
}

static lh_platform *platform_of(const std::string &text)
{
  lh_json_document *document;
  lh_platform *platform;
  if (lh_json_read_text("bench", text.c_str(), &document) != LH_OK ||
      lh_platform_read(lh_json_root(document), LH_SOURCE_DIR "/platforms/devices", &platform) !=
          LH_OK)
    stop();
  lh_json_document_free(document);
  return platform;
}

static result ours(const std::string &text, size_t n, lh_timing timing)
{
  lh_platform *platform = platform_of(text);
  std::vector<size_t> ranks(n);
  for (size_t i = 0; i < n; i++)
    ranks[i] = i;
  const auto begin = std::chrono::steady_clock::now();
  lh_collective collective{};
  collective.kind = LH_ALL_REDUCE;
  collective.algorithm = LH_RING;
  collective.timing = timing;
  collective.n = n;
  collective.ranks = ranks.data();
  collective.bytes = bytes;
  ours_state state{nullptr, n, 0.0};
  if (lh_engine_open(platform, LH_FLOW_IDEAL, 1, &state.engine) != LH_OK ||
      lh_collective_start(state.engine, &collective, ours_done, &state) != LH_OK ||
      lh_engine_run(state.engine) != LH_OK)
    stop();
  lh_engine_close(state.engine);
  const std::chrono::duration<double> host_s = std::chrono::steady_clock::now() - begin;
  return {host_s.count(), state.end_s};
}

/* ---- measuring ---------------------------------------------------------------------------------- */

template <class F> static result in_child(F measure)
{
  int ends[2];
  if (pipe(ends) != 0)
    std::exit(1);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const result r = measure();
    const bool written = write(ends[1], &r, sizeof r) == sizeof r;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  result r{};
  const bool got = read(ends[0], &r, sizeof r) == sizeof r;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!got)
    std::exit(1);
  return r;
}

struct summary {
  double best_s, median_s, virtual_s;
};

template <class F> static summary repeat(int times, F measure)
{
  std::vector<double> host_s;
  double virtual_s = 0.0;
  for (int i = 0; i < times; i++) {
    const result r = in_child(measure);
    host_s.push_back(r.host_s);
    virtual_s = r.virtual_s;
  }
  std::sort(host_s.begin(), host_s.end());
  return {host_s.front(), host_s[host_s.size() / 2], virtual_s};
}

static std::string star(size_t n)
{
  return "{\"name\": \"star\", \"nodes\": " + std::to_string(n) +
         ", \"network\": {\"topology\": \"star\", \"bandwidth\": \"125MB/s\", \"latency\": "
         "\"50us\"}}";
}

static std::string fat_tree(size_t n)
{
  return "{\"name\": \"fat-tree\", \"nodes\": " + std::to_string(n) +
         ", \"network\": {\"topology\": \"fat-tree\", \"arity\": [64, " +
         std::to_string((n + 63) / 64) + "], \"bandwidth\": \"125MB/s\", \"latency\": \"50us\"}}";
}

static void print(const char *what, const summary &s)
{
  std::printf("%-44s best %9.4f s  median %9.4f s  virtual %.6f s\n", what, s.best_s, s.median_s,
              s.virtual_s);
}

int main(int argc, char **argv)
{
  const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 512;
  const size_t many = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 4096;
  const int times = argc > 3 ? std::atoi(argv[3]) : 3;
  /* Rounds of the rival at `many` ranks. Every round is like every other, so the time of all is that
   * of these, less the start, times all rounds over these. */
  const size_t some = 100;

  const summary exact = repeat(times, [&] { return ours(star(n), n, LH_TIMING_EXACT); });
  print(("exact ring, star, " + std::to_string(n)).c_str(), exact);
  const summary s4u_ring = repeat(times, [&] { return rival(n, 2 * (n - 1)); });
  print(("S4U ring, star, " + std::to_string(n)).c_str(), s4u_ring);
  std::printf("  exact / S4U = %.3f (at most 1.3 wanted)\n", exact.median_s / s4u_ring.median_s);

  const summary start = repeat(1, [&] { return rival(many, 0); });
  const summary part = repeat(1, [&] { return rival(many, some); });
  const double whole_s =
      start.median_s + (part.median_s - start.median_s) * double(2 * (many - 1)) / double(some);
  print(("S4U ring, star, " + std::to_string(many) + ", 100 rounds").c_str(), part);
  std::printf("  scaled to all %zu rounds: %.1f s\n", 2 * (many - 1), whole_s);
  const summary fluid = repeat(times, [&] { return ours(star(many), many, LH_TIMING_FLUID); });
  print(("fluid ring, star, " + std::to_string(many)).c_str(), fluid);
  std::printf("  S4U / fluid = %.0f (at least 100 wanted)\n", whole_s / fluid.median_s);
  const summary tree = repeat(times, [&] { return ours(fat_tree(many), many, LH_TIMING_FLUID); });
  print(("fluid ring, fat tree, " + std::to_string(many)).c_str(), tree);
  std::printf("  S4U on the star / fluid = %.0f\n", whole_s / tree.median_s);
  return 0;
}
