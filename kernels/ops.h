/* ops.h -- every numeric operation: declared once, costed once, dispatched to a backend.
 *
 * The front end checks devices, dtypes and shapes (LH_EINTERNAL when they do not fit: that is a bug
 * in a model or a method), charges flop and bytes to the device, and calls the backend. On a
 * backend that computes nothing, operations that return numbers to the host return 0.
 *
 * Conventions: tensors are real (F32, BF16, F16: float on the CPU; F64: double); all tensors of one
 * call have the same storage and live on `dev`, but for lh_copy's x and lh_sum_in_order's addends. A
 * tensor is read as a matrix by its last axis. "adds" means the output is accumulated into, otherwise it
 * is overwritten. Rounding: one rounding per written operation, products before sums, left to right as
 * written, no fused multiply-add; results do not depend on the vector width of the host. Sums over
 * long axes run in a fixed order. Matrix products, alone and inside linear layers and attention, are
 * OpenBLAS's: their order is its own.
 *
 * Costs: "F flop" at a declaration is what is charged per element of the largest tensor, or in all where
 * it says so. Bytes are those of every tensor named, each once, twice if it is added to. One launch per
 * call unless it says more. In a device profile's curves an operation is called (size in) gemm (flop),
 * attention (flop), dct (flop), top-k, norm, activation, embedding, cross-entropy, elementwise,
 * reduction, optimizer (bytes).
 */
#ifndef LH_KERNELS_OPS_H
#define LH_KERNELS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "base/status.h"
#include "kernels/device.h"
#include "kernels/tensor.h"

/* ---- matrix products ------------------------------------------------------------------------ */

/* C = alpha * op(A) op(B) + beta * C; A (m,k), B (k,n), C (m,n) after op; all 2-D, or all 3-D with
 * an equal leading batch dimension. beta 0 does not read C. gemm: 2mnk flop in all, per batch. */
lh_status lh_gemm(lh_device *dev, bool transpose_a, bool transpose_b, double alpha,
                  const lh_tensor *a, const lh_tensor *b, double beta, lh_tensor *c);

/* y (n,out) = x (n,in) w^T + bias; w (out,in), bias (out) or NULL. gemm: 2 n in out flop in all. */
lh_status lh_linear_forward(lh_device *dev, lh_tensor *y, const lh_tensor *x, const lh_tensor *w,
                            const lh_tensor *bias);
/* dx (n,in) = dy w (overwritten; NULL: not wanted); adds dy^T x to dw and column sums of dy to
 * dbias (NULL with a NULL bias). A launch for each: gemm, gemm, and reduction with 1 flop per element of
 * dy. */
lh_status lh_linear_backward(lh_device *dev, lh_tensor *dx, lh_tensor *dw, lh_tensor *dbias,
                             const lh_tensor *dy, const lh_tensor *x, const lh_tensor *w);

/* ---- layers --------------------------------------------------------------------------------- */

/* Layer norm over the last axis: y = (x - mean) * rstd * gamma + beta; x, y (n,c), gamma, beta (c),
 * mean, rstd (n) are kept for the backward pass. beta may be NULL. norm: 8 flop. */
lh_status lh_layer_norm_forward(lh_device *dev, lh_tensor *y, lh_tensor *mean, lh_tensor *rstd,
                                const lh_tensor *x, const lh_tensor *gamma, const lh_tensor *beta,
                                double epsilon);
/* Adds to dx, dgamma, dbeta (dbeta NULL with a NULL beta). norm: 16 flop. */
lh_status lh_layer_norm_backward(lh_device *dev, lh_tensor *dx, lh_tensor *dgamma, lh_tensor *dbeta,
                                 const lh_tensor *dy, const lh_tensor *x, const lh_tensor *gamma,
                                 const lh_tensor *mean, const lh_tensor *rstd);

/* y = x * rstd * gamma, rstd = 1 / sqrt(mean(x^2) + epsilon). Backward adds to dx, dgamma. norm: 5 flop,
 * backward 11. */
lh_status lh_rms_norm_forward(lh_device *dev, lh_tensor *y, lh_tensor *rstd, const lh_tensor *x,
                              const lh_tensor *gamma, double epsilon);
lh_status lh_rms_norm_backward(lh_device *dev, lh_tensor *dx, lh_tensor *dgamma,
                               const lh_tensor *dy, const lh_tensor *x, const lh_tensor *gamma,
                               const lh_tensor *rstd);

/* GELU: the tanh form. activation: 1, 16, 11 flop, backward 1, 27, 16. */
typedef enum lh_activation { LH_RELU, LH_GELU, LH_SILU } lh_activation;
lh_status lh_activation_forward(lh_device *dev, lh_activation kind, lh_tensor *y,
                                const lh_tensor *x);
/* dx = dy * f'(x), overwritten; dx may be dy. */
lh_status lh_activation_backward(lh_device *dev, lh_activation kind, lh_tensor *dx,
                                 const lh_tensor *dy, const lh_tensor *x);

/* Causal multi-head self-attention. qkv (b*t, 3c): q, k, v side by side, heads of c / heads columns
 * inside each; out (b*t, c); row_lse (b*heads*t): log of the softmax denominators, kept for
 * backward, at (sequence * heads + head) * t + position. scale is 1 / sqrt(c / heads). No (t,t) matrix
 * outlives the call. A later token changes no bit of an earlier one's output unless it is NaN or
 * infinite. attention: forward 4 b t^2 c / 2 flop in all (the causal half), backward 2.5 times that. */
lh_status lh_attention_forward(lh_device *dev, lh_tensor *out, lh_tensor *row_lse,
                               const lh_tensor *qkv, size_t batch, size_t heads);
lh_status lh_attention_backward(lh_device *dev, lh_tensor *dqkv, const lh_tensor *dout,
                                const lh_tensor *out, const lh_tensor *row_lse,
                                const lh_tensor *qkv, size_t batch, size_t heads);

/* y (n,c) = table[tokens[i]] + position[i mod t]; tokens (n) I32 in 0..V-1, position (t,c) or NULL.
 * A token outside is LH_EINTERNAL. Backward adds, in ascending i. embedding: bytes of y twice (rows read
 * and written), backward of dy three times, and of the position table; not of the whole table. */
lh_status lh_embedding_forward(lh_device *dev, lh_tensor *y, const lh_tensor *tokens,
                               const lh_tensor *table, const lh_tensor *position);
lh_status lh_embedding_backward(lh_device *dev, lh_tensor *dtable, lh_tensor *dposition,
                                const lh_tensor *dy, const lh_tensor *tokens);

typedef struct lh_loss {
  double loss_sum; /* sum of -log p(target), in double */
  size_t count;    /* rows */
  size_t correct;  /* rows whose largest logit is the target; the first one of equals counts */
} lh_loss;
/* Fused softmax and cross-entropy over logits (n,v), targets (n) I32. dlogits (n,v) =
 * (softmax - onehot) * scale, may be logits itself, NULL for evaluation. *loss is added to; on a backend
 * that computes nothing only its count. cross-entropy: 12 flop. */
lh_status lh_cross_entropy(lh_device *dev, lh_tensor *dlogits, const lh_tensor *logits,
                           const lh_tensor *targets, double scale, lh_loss *loss);

/* ---- element-wise --------------------------------------------------------------------------- */

/* All elementwise, 1 flop per arithmetic operation written. Outputs may be inputs. */
lh_status lh_fill(lh_device *dev, lh_tensor *x, double value);
/* x may be of another device and another dtype of the same storage (F32 to BF16: values are kept). */
lh_status lh_copy(lh_device *dev, lh_tensor *y, const lh_tensor *x);
/* y = alpha * x + beta * y: both products rounded, then the sum. alpha and beta are rounded to the
 * tensor's precision first; a factor of exactly 1 multiplies nothing, beta 0 ignores y. */
lh_status lh_axpby(lh_device *dev, double alpha, const lh_tensor *x, double beta, lh_tensor *y);
lh_status lh_add(lh_device *dev, lh_tensor *y, const lh_tensor *a, const lh_tensor *b);
lh_status lh_subtract(lh_device *dev, lh_tensor *y, const lh_tensor *a,
                      const lh_tensor *b); /* a - b */
lh_status lh_multiply(lh_device *dev, lh_tensor *y, const lh_tensor *a, const lh_tensor *b);
lh_status lh_scale(lh_device *dev, lh_tensor *x, double alpha);
lh_status lh_sign(lh_device *dev, lh_tensor *y, const lh_tensor *x); /* sign(0) = 0 */
/* Sum of squares in double, fixed order (blocks of 1024, then blocks in order). reduction: 2 flop. */
lh_status lh_sum_squares(lh_device *dev, const lh_tensor *x, double *sum);
/* Normal(0, deviation^2) from lh_draw_normal(seed, LH_PURPOSE_PARAMETERS, stream, i). Not charged.
 */
lh_status lh_fill_normal(lh_device *dev, lh_tensor *x, double deviation, uint64_t seed,
                         uint64_t stream);

/* ---- optimizers ------------------------------------------------------------------------------ */

typedef struct lh_adamw_config {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  bool amsgrad; /* not offered yet: LH_EUNSUPPORTED */
} lh_adamw_config;
/* torch's non-capturable order, scalars in double then rounded once: p = p * (1 - lr*wd);
 * m = m + (1-b1) * (g - m); v = b2*v + ((1-b2)*g)*g; den = sqrt(v)/sqrt(1-b2^step) + eps;
 * p = p - (lr/(1-b1^step)) * (m/den). step counts from 1. All (n). optimizer: 28n bytes in f32, 14 flop.
 * hsdp-adamw section 4. */
lh_status lh_adamw(lh_device *dev, lh_tensor *param, lh_tensor *m, lh_tensor *v,
                   const lh_tensor *grad, const lh_adamw_config *config, uint64_t step);

typedef struct lh_sgd_config {
  double learning_rate, momentum;
  bool nesterov;
  double weight_decay; /* coupled: g + wd * p */
  bool first;          /* first step: the buffer becomes the gradient, as torch's does */
} lh_sgd_config;
/* g' = g + wd * p; buffer = first ? g' : momentum * buffer + g'; d = nesterov ? g' + momentum *
 * buffer : buffer (momentum 0: d = g', buffer may be NULL); p = p - lr * d. optimizer: 2 flop, and 2 each
 * for decay, momentum and Nesterov. */
lh_status lh_sgd(lh_device *dev, lh_tensor *param, lh_tensor *buffer, const lh_tensor *grad,
                 const lh_sgd_config *config);

/* NoLoCo's outer step (noloco, algorithm 3.4-3.5): delta = (alpha*delta + beta*mean_delta) +
 * gamma*(mean_phi - phi); phi = phi + delta. All (n). optimizer: 7 flop. */
lh_status lh_gossip_momentum(lh_device *dev, lh_tensor *delta, lh_tensor *phi,
                             const lh_tensor *mean_delta, const lh_tensor *mean_phi, double alpha,
                             double beta, double gamma);

/* ---- compression ----------------------------------------------------------------------------- */

/* Chunk layout of one tensor for the DCT (demo, sections A to C). Built once, owned by the caller.
 */
typedef struct lh_chunking {
  size_t rows, columns;  /* the tensor as a matrix; 1-D: 1 x n, transformed along columns only */
  size_t height, width;  /* chunk sizes: largest divisor of rows (columns) not above the target */
  size_t blocks;         /* (rows/height) * (columns/width), y outer, x inner */
  size_t block_elements; /* height * width */
  lh_tensor basis_height, basis_width; /* (h,h) and (w,w), F[sample][frequency]; owned */
} lh_chunking;
/* Largest divisor of n that is at most target. */
size_t lh_chunk_length(size_t n, size_t target);
/* shape: 1-D, or 2-D; more dimensions are read as (shape[0], the product of the rest); a scalar as
 * length 1. Basis in double, rounded once; entries that are 0 in exact arithmetic are exactly 0. */
lh_status lh_chunking_init(lh_device *dev, lh_chunking *chunking, const lh_tensor *like,
                           size_t target);
void lh_chunking_fini(lh_chunking *chunking);

/* Encodes x (the chunked tensor) and keeps per block the k = min(max(top_k,1), block_elements)
 * coefficients of largest magnitude: larger first, ties to the lower index, NaN largest; written in
 * ascending index. index (blocks*k) I32: coefficient number inside the block, value (blocks*k). Two
 * launches: dct with 2 (height + width) flop, a height of 1 counting nothing, bytes of x twice and the
 * bases; top-k with 1 flop, bytes of x and the message. */
lh_status lh_dct_top_k(lh_device *dev, const lh_tensor *x, const lh_chunking *chunking, size_t k,
                       lh_tensor *index, lh_tensor *value);

typedef enum lh_merge { LH_MERGE_CONTRIBUTORS, LH_MERGE_SUM_OVER_N } lh_merge;
/* Scatters `messages` messages of (blocks*k) each, laid one after another in index and value
 * (ascending rank), merges them (mean over the contributors of each coefficient, or sum over the
 * number of messages) and decodes into y. An index outside its block is LH_EINTERNAL. demo, section D
 * steps 5, 7, 8. Two launches: elementwise, 1 flop per value, bytes of the messages and y; dct as above. */
lh_status lh_dct_merge_decode(lh_device *dev, lh_tensor *y, const lh_chunking *chunking, size_t k,
                              size_t messages, lh_merge merge, const lh_tensor *index,
                              const lh_tensor *value);

/* Rows of a tensor by number: x is read as rows of elements(y) / k numbers each, one after another; `rows`
 * (k) I32, each below the number of rows, else LH_EINTERNAL. elementwise: bytes of the list, and of the
 * rows that are read and written; not of the whole tensor.
 * gather: y[q] = x[rows[q]]. scatter: y[rows[q]] = x[q], in ascending q; other rows of y stay.
 * zero: x[rows[q]] = 0, rows of row_elements numbers. */
lh_status lh_gather_rows(lh_device *dev, lh_tensor *y, const lh_tensor *x, const lh_tensor *rows);
lh_status lh_scatter_rows(lh_device *dev, lh_tensor *y, const lh_tensor *x, const lh_tensor *rows);
lh_status lh_zero_rows(lh_device *dev, lh_tensor *x, size_t row_elements, const lh_tensor *rows);
/* rows (k) I32 = the k of n rows that lh_draw_row_set draws from (seed, step). top-k: 1 flop and 4 bytes
 * per score, and the list. */
lh_status lh_draw_rows(lh_device *dev, lh_tensor *rows, size_t n, uint64_t seed, uint64_t step);

/* y (n) FP4 = x (n) as one block of E3M0 codes (kernels/fp4.h); F64 for an F64 x. A block without a finite
 * non-zero number is 0. Two launches: reduction, 1 flop, bytes of x; elementwise, 4 flop, bytes of both. */
lh_status lh_quantise_fp4(lh_device *dev, lh_tensor *y, const lh_tensor *x);

/* ---- what a collective does to numbers ------------------------------------------------------- */

/* Rounds to the wire dtype and back, in place (bf16, f16: to nearest even; f32, f64: nothing; bit:
 * -1 if negative, else +1, for a bit has no third value for 0). Not charged. LH_EUNSUPPORTED for wires without a rounding here. */
lh_status lh_round_to_wire(lh_device *dev, lh_tensor *x, lh_dtype wire);
/* out = ((in[0] + in[1]) + in[2]) + ... in the given order; with a 16-bit wire every addend and
 * every partial sum is rounded to it. mean: divided by n at the end, not rounded again. out may be one of
 * them. Addends may live on other devices. Not charged. */
lh_status lh_sum_in_order(lh_device *dev, lh_tensor *out, const lh_tensor *const *in, size_t n,
                          bool mean, lh_dtype wire);

/* ---- given problems -------------------------------------------------------------------------- */

/* grad = (a * (x - s)) * scale, added to grad; *loss += sum(0.5 * a * (x - s)^2) in double, ascending.
 * All (n). elementwise: 7 flop. */
lh_status lh_quadratic(lh_device *dev, lh_tensor *grad, const lh_tensor *x, const lh_tensor *a,
                       const lh_tensor *s, double scale, double *loss);

#endif
