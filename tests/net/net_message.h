/* net_message.h -- single messages over an engine, all given to it at time 0. */
#ifndef LH_TESTS_NET_MESSAGE_H
#define LH_TESTS_NET_MESSAGE_H

#include "tests/net/net_case.h"

typedef struct message {
  size_t src, dst;
  double bytes, delay_s, cap_Bps;
  double expected_s;
  lh_engine *engine;
  double end_s;
} message;

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define MESSAGE(from, to, size, delay, cap, end)                                                   \
  {                                                                                                \
    .src = from, .dst = to, .bytes = size, .delay_s = delay, .cap_Bps = cap, .expected_s = end     \
  }

static inline void message_end(void *arg)
{
  message *m = arg;
  m->end_s = lh_engine_now_s(m->engine);
}

static inline void send_all(const lh_platform *platform, const lh_engine_options *options,
                            message *m, size_t n)
{
  lh_engine *engine;
  REQUIRE_OK(lh_engine_open_with(platform, options, &engine));
  for (size_t i = 0; i < n; i++) {
    m[i].engine = engine;
    m[i].end_s = -1;
    lh_engine_send(engine, m[i].src, m[i].dst, m[i].bytes, m[i].delay_s, m[i].cap_Bps, message_end,
                   &m[i]);
  }
  REQUIRE_OK(lh_engine_run(engine));
  lh_engine_close(engine);
}

static inline void expect_all(const char *name, const lh_platform *platform,
                              const lh_engine_options *options, message *m, size_t n,
                              double relative)
{
  send_all(platform, options, m, n);
  for (size_t i = 0; i < n; i++)
    CHECK_NEAR(m[i].end_s, m[i].expected_s, relative * m[i].expected_s, "%s, message %zu", name, i);
}

#endif
