/* units.h -- quantities are read and printed once, at the edge; inside, everything is in base
 * units.
 *
 * Text is a number directly followed by a unit ("10Gbps", "1.25GB/s", "50us", "16GiB"); spaces
 * between the two are allowed. SI prefixes are powers of 1000, Ki/Mi/Gi/Ti powers of 1024. A small
 * b is a bit, a capital B a byte: "Gbps" and "GBps" differ by eight, and both "GBps" and "GB/s" are
 * read.
 */
#ifndef LH_BASE_UNITS_H
#define LH_BASE_UNITS_H

#include <stddef.h>

#include "base/status.h"

typedef enum lh_unit {
  LH_UNIT_BYTES_PER_S, /* bps kbps Mbps Gbps Tbps (bits), Bps B/s kBps MB/s GBps GiB/s ... (bytes)
                        */
  LH_UNIT_BYTES,       /* B kB MB GB TB KiB MiB GiB TiB */
  LH_UNIT_S,           /* ns us ms s min h d */
  LH_UNIT_FLOP_PER_S,  /* FLOPS kFLOPS MFLOPS GFLOPS TFLOPS PFLOPS, also flop/s */
  LH_UNIT_WATT,        /* W kW MW */
  LH_UNIT_USD_PER_S,   /* USD/h (also USD/s): price of one device */
  LH_UNIT_COUNT
} lh_unit;

/* Reads text as a quantity of the given unit into base units (bytes per second, bytes, seconds,
 * flop per second, watt, USD per second). LH_EINVAL for a missing or foreign unit, trailing text,
 * NaN, infinity or a negative number; the reason says what was found and what is allowed. */
lh_status lh_quantity_parse(const char *text, lh_unit unit, double *value);

/* What may stand there, for error messages and help: e.g. "a rate such as \"10Gbps\" or
 * \"1.25GB/s\"". */
const char *lh_unit_allowed(lh_unit unit);

/* Print in the prefix that reads best, e.g. "1.40 s", "12.5 MB", "100 MB", "1.25 GB/s", "100 Mbps".
 * Returns `buffer`. */
const char *lh_format_s(char *buffer, size_t size, double seconds);
const char *lh_format_bytes(char *buffer, size_t size, double bytes);      /* SI: kB, MB, GB */
const char *lh_format_bytes_per_s(char *buffer, size_t size, double rate); /* kB/s, MB/s, GB/s */
const char *lh_format_bits_per_s(char *buffer, size_t size, double bytes_per_s); /* kbps ... */
const char *lh_format_count(char *buffer, size_t size, double count);            /* 124M, 1.5B */
/* The shortest decimal text that reads back as the same double; whole numbers below 2^53 without an
 * exponent. For files: the same value always gives the same bytes. NaN and infinities as printf's. */
const char *lh_format_number(char *buffer, size_t size, double value);

#endif
