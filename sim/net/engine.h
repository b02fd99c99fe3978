/* engine.h -- the discrete-event engine: actors, time, timers and flows. The only door to SimGrid.
 *
 * One engine per process (SimGrid's own limit), which is why every scenario runs in a process of
 * its own. Everything runs on one thread; callbacks run between actors, must not block, and may
 * start flows, set timers and wake actors.
 *
 * Flow models. `ideal`: a message takes its route's latency, then shares bandwidth max-min fairly
 * with whatever flows; bytes may be fractional. `tcp`: SimGrid's calibrated TCP model, latency and
 * window limit included; bytes are rounded up.
 */
#ifndef LH_SIM_ENGINE_H
#define LH_SIM_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "base/status.h"
#include "sim/platform/platform.h"

typedef enum lh_flow_model { LH_FLOW_IDEAL, LH_FLOW_TCP, LH_FLOW_MODEL_COUNT } lh_flow_model;
extern const char *const lh_flow_model_names[]; /* NULL-terminated, for the parser and the help */

typedef struct lh_engine lh_engine;
typedef struct lh_gate lh_gate; /* where an actor sleeps until it is woken */

#define LH_TCP_WINDOW_BYTES 4194304.0 /* SimGrid's default, 4 MiB */

typedef struct lh_engine_options {
  lh_flow_model flow_model;
  uint64_t seed;           /* for latency variation */
  double tcp_window_bytes; /* one flow moves at most a window per round trip; 0: the default */
} lh_engine_options;

/* `platform` is borrowed. LH_EINTERNAL when this process has opened an engine before. */
lh_status lh_engine_open_with(const lh_platform *platform, const lh_engine_options *options,
                              lh_engine **engine);
/* The same with the default window. seed: for latency variation. */
lh_status lh_engine_open(const lh_platform *platform, lh_flow_model model, uint64_t seed,
                         lh_engine **engine);
void lh_engine_close(lh_engine *engine);

/* An actor: `run(arg)` as ordinary blocking C on its own stack, starting at time 0. */
lh_status lh_engine_spawn(lh_engine *engine, const char *name, void (*run)(void *arg), void *arg);
/* Runs until all actors have ended. LH_EDEADLOCK when some are left waiting with nothing to come.
 */
lh_status lh_engine_run(lh_engine *engine);
double lh_engine_now_s(const lh_engine *engine);

/* Inside an actor: */
void lh_engine_sleep_s(lh_engine *engine, double seconds);
lh_gate *lh_gate_new(lh_engine *engine); /* NULL: no memory */
void lh_gate_free(lh_gate *gate); /* kept when an actor of an abandoned run still waits there */
void lh_gate_wait(lh_gate *gate); /* blocks until one lh_gate_open for each wait */
/* Anywhere: */
void lh_gate_open(lh_gate *gate); /* an opening before the wait is remembered */

/* Calls `fire(arg)` at now + delay_s. */
void lh_engine_after_s(lh_engine *engine, double delay_s, void (*fire)(void *arg), void *arg);

/* Sends bytes from one rank's accelerator to another's: after delay_s (overheads) and the route's
 * latency, a flow; `done(arg)` when the last byte is there. Zero bytes pay latency only. src == dst
 * takes delay_s only. cap_Bps: INFINITY for none; the route's own cap holds beside it. A message
 * from or to a node that is down begins when the node is up again; what is in flight arrives. */
void lh_engine_send(lh_engine *engine, size_t src_rank, size_t dst_rank, double bytes,
                    double delay_s, double cap_Bps, void (*done)(void *arg), void *arg);
/* What a message from src to dst pays before its bytes flow, without variation: the route's latency,
 * under tcp as often as the model counts it. 0 for src == dst. */
double lh_engine_latency_s(const lh_engine *engine, size_t src_rank, size_t dst_rank);
/* Payload that lh_engine_send has taken from a rank so far, by destination. */
void lh_engine_sent_bytes(const lh_engine *engine, size_t rank, double *inter_bytes,
                          double *intra_bytes);

/* Ends the simulation: lh_engine_run returns the first status that was given. Actors that wait are
 * left waiting. May be called from an actor or a callback. */
void lh_engine_abort(lh_engine *engine, lh_status status);
const lh_platform *lh_engine_platform(const lh_engine *engine);

#ifdef __cplusplus
}
#endif

#endif
