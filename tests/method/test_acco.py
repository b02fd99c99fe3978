"""The worked examples of the acco page: ACCO by SGD, AdamW and in bf16, DPU, WP, unequal counts, and its timing."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import close, error_of, parameters, predict, star

SAMPLES = {"model": "quadratic", "start": [2.0], "curvature": [1.0],
           "samples": [[[1], [3], [0], [2], [4], [1], [2], [5]], [[-1], [1], [-2], [0], [1], [-3], [0], [2]]]}
SGD = {"name": "sgd", "learning_rate": 0.1}
ADAMW = {"name": "adamw", "learning_rate": 0.1, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1}
F32 = {"gradient_wire": "f32", "parameter_wire": "f32"}


def run(steps, workload=SAMPLES, platform=None, **method):
    return predict({"platform": platform or star(2), "workload": workload, "method": {"name": "acco", **method},
                    "run": {"mode": "train", "steps": steps, "collectives": {
                        kind: "ring" for kind in ("all_reduce", "all_gather", "reduce_scatter")}}})


class WorkedExamples(unittest.TestCase):
    def expect(self, results, **method):
        """Parameter of both ranks after each step."""
        _, lines = run(len(results), **method)
        for step, result in enumerate(results, 1):
            for rank in range(2):
                close(self, parameters(lines, rank, step), [result], 6, f"rank {rank}, step {step}")
        return lines

    def test_sgd(self):
        self.expect([1.900000, 1.715000, 1.623250], optimizer=SGD, **F32)

    def test_adamw(self):
        self.expect([1.880000, 1.764716, 1.651753], optimizer=ADAMW, **F32)
        self.expect([1.886071, 1.770828, 1.658711], optimizer=ADAMW, first_estimate="code", **F32)

    def test_bf16(self):
        """The parameters are the masters rounded; the masters are the page's results."""
        _, lines = run(3, optimizer=ADAMW)
        for step, master, rounded in (1, 1.880000, 1.882812), (2, 1.764687, 1.765625), (3, 1.651700, 1.648438):
            owner = next(line for line in lines if line["rank"] == 0 and line["step"] == step)
            self.assertEqual(owner["master_offset"], 0)
            close(self, owner["master"], [master], 6)
            for rank in range(2):
                close(self, parameters(lines, rank, step), [rounded], 6)

    def test_like_ddp(self):
        """Two micro-batches per step under ddp with the same samples: the page's other row."""
        for optimizer, results in (SGD, [1.9, 1.71, 1.614]), (ADAMW, [1.88, 1.764716, 1.651776]):
            _, lines = predict({"platform": star(2), "workload": {**SAMPLES, "micro_batches": 2},
                                "method": {"name": "ddp", "optimizer": optimizer}, "run": {"mode": "train", "steps": 3}})
            for step, result in enumerate(results, 1):
                close(self, parameters(lines, 0, step), [result], 6)

    def test_delayed(self):
        self.expect([1.8, 1.8, 1.52, 1.44], variant="dpu", optimizer=SGD, **F32)
        self.expect([1.8, 1.82, 1.54, 1.458, 1.554], variant="dpu", warmup_steps=1, optimizer=SGD, **F32)

    def test_weight_prediction(self):
        """Parameters are the predicted ones, the master is theta."""
        lines = self.expect([1.6, 1.8, 1.28], variant="wp", optimizer=SGD, **F32)
        masters = [line["master"] for line in lines if line["rank"] == 0]
        for got, theta in zip(masters, (1.8, 1.8, 1.54)):
            close(self, got, [theta], 6)

    def test_unequal_counts(self):
        """Three micro-batches a round on rank 0, one on rank 1, which is three times slower."""
        workload = {"model": "quadratic", "start": [2.0], "curvature": [[1.0], [3.0]], "optimum": [[1.0], [-1.0]],
                    "micro_batch_time": ["1s", "3s"]}
        _, lines = run(3, workload, star(2, bandwidth="1Gbps", latency="1us"), optimizer=SGD, **F32)
        for step, result in enumerate((1.633333, 1.398333, 1.187833), 1):
            close(self, parameters(lines, 0, step), [result], 6)


class Timing(unittest.TestCase):
    """Virtual time by the page's model. One round: a count (all-reduce of 4 B), a reduce-scatter and an all-gather:
    4 (n-1) messages through a wire so wide that only its latency counts."""

    TOKENS = 8  # of a micro-batch

    def workload(self, times):
        return {"model": {"kind": "gpt", "depth": 1, "width": 4, "heads": 1, "context": 8, "vocabulary": 8},
                "sequence_tokens": self.TOKENS, "micro_batch_sequences": 1, "data": {"kind": "synthetic", "states": 4},
                "micro_batch_time": [f"{t}s" for t in times]}

    def rounds(self, times, round_s, rounds, **method):
        """The row, the dump, and all micro-batches that were computed."""
        ranks = len(times)
        latency = round_s / (4 * (ranks - 1)) / 2
        row, lines = run(rounds // 2, self.workload(times), star(ranks, bandwidth="1000GB/s", latency=f"{latency}s"),
                         optimizer=SGD, **method)
        return row, lines, row["tokens"] / self.TOKENS

    def test_one_of_four_is_four_times_slower(self):
        """13 micro-batches in 4 s against 4 of synchronous training: 3.25 times the gradients."""
        times = 1, 1, 1, 4
        row, lines, computed = self.rounds(times, 0.5, 40)
        self.assertEqual(computed, 4 + 40 * 13)  # one each to begin with, then (4, 4, 4, 1) a round
        ends = [line["virtual_time_s"] for line in lines if line["rank"] == 3]
        step_s = (ends[-1] - ends[1]) / (len(ends) - 2)
        self.assertAlmostEqual(step_s, 8, places=6)  # two rounds of 4 s
        ddp, _ = predict({"platform": star(4, bandwidth="1000GB/s", latency="1ns"), "method": "ddp",
                          "run": {"mode": "train", "steps": 20}, "workload": self.workload(times)})
        ddp_per_s = ddp["tokens"] / self.TOKENS / ddp["wall_clock_s"]
        self.assertAlmostEqual(2 * 13 / step_s / ddp_per_s, 3.25, places=5)

    def test_two_equal_ranks_fill_a_long_round(self):
        row, _, computed = self.rounds((1, 1), 2.5, 20)
        self.assertEqual(computed, 2 * (1 + 20 * 3))
        self.assertAlmostEqual(row["wall_clock_s"], 1 + 20 * 3, places=6)
        self.assertAlmostEqual(row["exposed_communication_s"], 0, places=9)

    def test_a_round_lasts_one_block_at_least(self):
        row, _, computed = self.rounds((1, 1), 0.5, 20, accumulation_block=2)
        self.assertEqual(computed, 2 * (1 + 20 * 2))
        self.assertAlmostEqual(row["wall_clock_s"], 1 + 20 * 2, places=6)

    def test_delayed_computes_one_round_a_step(self):
        row, _, computed = self.rounds((1, 1), 2.5, 20, variant="dpu")
        self.assertEqual(computed, 2 * (1 + 10 * 3))
        self.assertAlmostEqual(row["wall_clock_s"], 1 + 10 * 3, places=6)


class Refused(unittest.TestCase):
    def test_errors(self):
        for method, expected in (({"clip_norm": 1}, "clip_norm: found 1, allowed: 0"),
                                 ({"variant": "dpo"}, 'did you mean "dpu"'),
                                 ({"accumulation_block": 0}, "accumulation_block"),
                                 ({"first_estimate": "paper"}, "first_estimate")):
            error = error_of({"platform": star(2), "workload": SAMPLES, "method": {"name": "acco", **method},
                              "run": {"mode": "train", "steps": 1}})
            self.assertIn(expected, error)


if __name__ == "__main__":
    unittest.main()
