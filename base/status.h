/* status.h -- how every function that can fail answers, and where the reason is kept.
 *
 * A function that can fail returns lh_status and gives its results through pointers. lh_fail is the
 * only place an error is born; LH_TRY passes it on unchanged. The text of the latest failure is
 * kept per thread, because a status travels up through code that has nowhere to put a string; it is
 * never read for anything but printing.
 */
#ifndef LH_BASE_STATUS_H
#define LH_BASE_STATUS_H

/* name, text, exit status of the program when it ends for this reason */
#define LH_STATUS_MAP(X)                                                                           \
  X(LH_OK, "done", 0)                                                                              \
  X(LH_EINVAL, "bad input", 2)                                                                     \
  X(LH_ENOMEM, "the host has too little memory", 1)                                                \
  X(LH_EDEVICEMEM, "the simulated device has too little memory", 1)                                \
  X(LH_EIO, "input or output failed", 1)                                                           \
  X(LH_EDIVERGED, "the training diverged", 1)                                                      \
  X(LH_EDEADLOCK, "ranks wait for each other and none can go on", 1)                               \
  X(LH_EUNSUPPORTED, "not offered here", 2)                                                        \
  X(LH_EINTERRUPTED, "interrupted", 130)                                                           \
  X(LH_EINTERNAL, "a result contradicts itself", 1)                                                \
  X(LH_EFAILED, "something that was run failed", 1)

#define LH_STATUS_ENUM(name, text, exit) name,
typedef enum lh_status { LH_STATUS_MAP(LH_STATUS_ENUM) LH_STATUS_COUNT } lh_status;
#undef LH_STATUS_ENUM

/* lh_fail(status, format, ...) records a printf-style reason and has the value `status`: a macro, so that
 * compilers and analysers see that the value is not LH_OK. The text is one line, names the key, the value
 * and the accepted range, and has no final full stop or newline.
 * lh_fail_within(status, format, ...) puts "context: " in front of the recorded reason. */
#define lh_fail(status, ...) (lh_fail_record(__VA_ARGS__), (status))
#define lh_fail_within(status, ...) (lh_fail_record_within(__VA_ARGS__), (status))
void lh_fail_record(const char *format, ...) __attribute__((format(printf, 1, 2)));
void lh_fail_record_within(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The latest reason recorded on this thread; "" if none. Valid until the next lh_fail. */
const char *lh_fail_text(void);

/* The short text and the program's exit status that belong to a status. */
const char *lh_status_text(lh_status status);
int lh_status_exit(lh_status status);

#define LH_TRY(call)                                                                               \
  do {                                                                                             \
    lh_status lh_try_status_ = (call);                                                             \
    if (lh_try_status_ != LH_OK)                                                                   \
      return lh_try_status_;                                                                       \
  } while (0)

/* For functions with one exit label `done:` that releases and returns `status`. */
#define LH_TRY_GOTO(status, call)                                                                  \
  do {                                                                                             \
    if (((status) = (call)) != LH_OK)                                                              \
      goto done;                                                                                   \
  } while (0)

#endif
