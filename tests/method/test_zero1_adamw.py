"""The worked examples of the zero1-adamw page: zero1, ddp and local-sgd; and what the variants of zero1 send and own."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import close, error_of, parameters, predict, star


def run(nodes, workload, method, steps):
    return predict({"platform": star(nodes), "workload": workload, "method": method,
                    "run": {"mode": "train", "steps": steps}})


ADAMW = {"name": "adamw", "learning_rate": 0.01, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1}
F32 = {"gradient_wire": "f32", "parameter_wire": "f32"}


def padded(elements, ranks):
    return (elements + ranks - 1) // ranks * ranks


class AdamW(unittest.TestCase):
    WORKLOAD = {"model": "quadratic", "start": [1, -2, 0.5], "curvature": [[1, 1, 1], [2, 2, 2]],
                "optimum": [[0, 1, 2], [2, -1, 1]]}
    THETA = [[1.009000, -1.988000, 0.509500], [1.017986, -1.976013, 0.518989], [1.026956, -1.964040, 0.528465]]

    def test_all_that_hold_every_parameter(self):
        for method in {"name": "ddp"}, {"name": "zero1", "variant": "reference"}, {"name": "zero1", "variant": "reference",
                                                                                  "no_sync": True}:
            with self.subTest(method=method):
                _, lines = run(2, self.WORKLOAD, {**method, "optimizer": ADAMW}, 3)
                for step, theta in enumerate(self.THETA, 1):
                    for rank in range(2):
                        close(self, parameters(lines, rank, step), theta, 6, f"rank {rank} step {step}")

    def test_slices(self):
        _, lines = run(2, self.WORKLOAD, {"name": "zero1", "optimizer": ADAMW, **F32}, 3)
        for step, theta in enumerate(self.THETA, 1):
            shown = {line["rank"]: line for line in lines if line["step"] == step}
            self.assertEqual([shown[rank]["offset"] for rank in range(2)], [0, 2])
            close(self, shown[0]["parameters"], theta[:2], 6)
            close(self, shown[1]["parameters"], theta[2:], 6)

    def test_sizes_of_slices(self):
        for elements, ranks, sizes in (10, 4, [3, 3, 3, 1]), (5, 4, [2, 2, 1, 0]):
            workload = {"model": "quadratic", "start": [1.0] * elements, "curvature": [1.0] * elements,
                        "optimum": [[float(rank)] * elements for rank in range(ranks)]}
            _, lines = run(ranks, workload, {"name": "zero1", "optimizer": ADAMW}, 1)
            self.assertEqual([len(parameters(lines, rank, 1)) for rank in range(ranks)], sizes)


GPT = {"model": {"kind": "gpt", "depth": 2, "width": 8, "heads": 2, "context": 8, "vocabulary": 32}, "sequence_tokens": 8,
       "micro_batch_sequences": 1, "data": {"kind": "synthetic", "states": 16}}


class Ideal(unittest.TestCase):
    def masters(self, lines, step):
        """The replica, from its slices."""
        shown = sorted((line.get("master_offset", line.get("offset")), line.get("master", line["parameters"]))
                       for line in lines if line["step"] == step)
        return [x for _, values in shown for x in values]

    def test_equals_acco_without_overlap(self):
        """Two methods, one arithmetic (page, "ideal", 3): to the bit, also in bf16."""
        for wires in {}, F32:
            _, zero1 = run(4, GPT, {"name": "zero1", "optimizer": ADAMW, **wires}, 6)
            _, acco = run(4, GPT, {"name": "acco", "optimizer": ADAMW, "warmup_steps": 6, **wires}, 6)
            for step in 1, 6:
                self.assertEqual(self.masters(zero1, step), self.masters(acco, step))

    def test_buckets_change_nothing_but_rounding(self):
        """Buckets of one or two tensors: the same masters; each rank shows the replica."""
        _, one = run(3, GPT, {"name": "zero1", "optimizer": ADAMW, **F32}, 4)
        _, many = run(3, GPT, {"name": "zero1", "optimizer": ADAMW, "bucket": "600B", "first_bucket": "100B", **F32}, 4)
        for rank in range(3):
            self.assertEqual(parameters(many, rank, 4), self.masters(one, 4))

    def test_follows_ddp(self):
        """Micro-batches, clipping and a schedule, against ddp in f32."""
        workload = {**GPT, "micro_batches": 3}
        options = {"optimizer": ADAMW, "clip_norm": 0.3, "schedule": {"name": "cosine", "warmup_steps": 2}}
        _, ddp = run(4, workload, {"name": "ddp", **options}, 6)
        expected = parameters(ddp, 0, 6)
        for variant in {"variant": "ideal", **F32}, {"variant": "reference"}, {"variant": "reference", "no_sync": True}:
            _, lines = run(4, workload, {"name": "zero1", **variant, **options}, 6)
            got = self.masters(lines, 6) if variant["variant"] == "ideal" else parameters(lines, 3, 6)
            self.assertEqual(len(got), len(expected))
            self.assertLess(max(abs(g - e) for g, e in zip(got, expected)), 2e-4, variant)

    def test_the_gather_hides_behind_the_next_micro_batch(self):
        """Two ranks, one message of two latencies each way: per step a micro-batch of 1 s and a reduction of 0.3 s; the
        gather of 0.3 s is seen after the last step only."""
        row, _ = predict({"platform": star(2, bandwidth="1000GB/s", latency="0.15s"),
                          "workload": {**AdamW.WORKLOAD, "micro_batch_time": "1s"}, "method": {"name": "zero1"},
                          "run": {"mode": "train", "steps": 5, "collectives": {kind: "ring" for kind in
                                                                               ("reduce_scatter", "all_gather")}}})
        self.assertAlmostEqual(row["wall_clock_s"], 5 * (1 + 0.3) + 0.3, places=6)

    def test_reductions_hide_behind_the_backward_pass(self):
        """Many buckets end before one, and what is sent is the same."""
        workload = {**GPT, "model": {**GPT["model"], "depth": 6, "width": 64, "heads": 4, "vocabulary": 256, "context": 64},
                    "sequence_tokens": 64, "micro_batch_sequences": 8}

        def timed(**buckets):
            platform = star(4, bandwidth="1Gbps", latency="1us", device="l4")
            row, _ = predict({"platform": platform, "workload": workload, "method": {"name": "zero1", **buckets},
                              "run": {"mode": "cost", "steps": 4}}, dump_lines=False)
            return row

        one, many = timed(first_bucket="1GiB", bucket="1GiB"), timed(first_bucket="64KiB", bucket="64KiB")
        self.assertLess(many["exposed_communication_s"], one["exposed_communication_s"])
        self.assertLess(many["wall_clock_s"], one["wall_clock_s"])
        self.assertAlmostEqual(many["inter_node_bytes_per_step"] / one["inter_node_bytes_per_step"], 1, places=3)


class Reference(unittest.TestCase):
    def broadcasts(self, sizes, ranks):
        """Bytes that each rank sends with binomial trees of two or three ranks: only owners send."""
        elements = sum(sizes)
        workload = {"model": "quadratic", "start": [1.0] * elements, "curvature": [1.0] * elements, "layers": sizes,
                    "optimum": [[float(rank)] * elements for rank in range(ranks)]}
        _, lines = predict({"platform": star(ranks), "workload": workload,
                            "method": {"name": "zero1", "variant": "reference", "bucket": "1GiB", "first_bucket": "1GiB"},
                            "run": {"mode": "train", "steps": 1,
                                    "collectives": {"all_reduce": "ring", "broadcast": "binomial-tree"}}})
        _, ddp = predict({"platform": star(ranks), "workload": workload,
                          "method": {"name": "ddp", "bucket": "1GiB", "first_bucket": "1GiB"},
                          "run": {"mode": "train", "steps": 1, "collectives": {"all_reduce": "ring"}}})
        return [z["inter_node_bytes"] - d["inter_node_bytes"] for z, d in zip(lines, ddp)]

    def test_ownership(self):
        """The page's example: 12 elements and 11."""
        self.assertEqual(self.broadcasts([3, 7, 2, 5, 5, 1], 2), [4 * 12, 4 * 11])

    def test_the_largest_tensor_sets_the_pace(self):
        """Each owner sends to both others."""
        self.assertEqual(self.broadcasts([10, 1, 1], 3), [2 * 4 * 10, 2 * 4, 2 * 4])

    def test_every_micro_batch_is_reduced(self):
        for micro_batches in 1, 3:
            workload = {**AdamW.WORKLOAD, "micro_batches": micro_batches}
            sent = {}
            for name, method in (("sync", {"name": "zero1", "variant": "reference"}),
                                 ("no_sync", {"name": "zero1", "variant": "reference", "no_sync": True})):
                row, _ = run(2, workload, method, 2)
                sent[name] = row["inter_node_bytes_per_step"]
            mean = 3 * 4 * (2 - 1) / 2 * 2  # 8 P (n-1)/n
            self.assertAlmostEqual(sent["sync"] - sent["no_sync"], (micro_batches - 1) * mean)

    def test_refused(self):
        for method, expected in (({"no_sync": True}, 'no_sync: only for variant "reference"'),
                                 ({"variant": "reference", "gradient_wire": "f32"}, 'gradient_wire: only for variant "ideal"'),
                                 ({"variant": "idael"}, 'did you mean "ideal"')):
            self.assertIn(expected, error_of({"platform": star(2), "workload": AdamW.WORKLOAD,
                                              "method": {"name": "zero1", **method}, "run": {"mode": "train", "steps": 1}}))


class Hsdp(unittest.TestCase):
    """The data of the hsdp-adamw page under ddp: four ranks, 15 parameters, two steps."""

    @staticmethod
    def gradient(rank, step, i):
        return ((2 * i * i + 4 * rank * i + 3 * rank + 3 * step * i + step) % 17 - 8) / 8

    EXPECTED = {
        0.0: ["1.00100000 1.00000000 .99900000 1.00000000 .99900000 .99900000 .99900000 .99900000 "
              "1.00100000 1.00100000 1.00100000 1.00100000 1.00100000 .99900000 1.00100000",
              "1.00195749 1.00074414 .99812894 1.00074414 .99799875 .99802546 .99965533 .99932528 "
              "1.00148548 1.00132258 1.00178333 1.00200000 1.00193218 .99853053 1.00199117"],
        0.01: ["1.00099000 .99999000 .99899000 .99999000 .99899000 .99899000 .99899000 .99899000 "
               "1.00099000 1.00099000 1.00099000 1.00099000 1.00099000 .99899000 1.00099000",
               "1.00193748 1.00072414 .99810895 1.00072414 .99797876 .99800547 .99963534 .99930529 "
               "1.00146547 1.00130257 1.00176332 1.00197999 1.00191217 .99851054 1.00197116"]}

    def test_parameters_and_bytes(self):
        gradients = [[[self.gradient(q, t, i) for i in range(15)] for t in (1, 2)] for q in range(4)]
        for decay, expected in self.EXPECTED.items():
            _, lines = run(4, {"model": "gradients", "start": [1] * 15, "gradients": gradients},
                           {"name": "ddp", "optimizer": {"name": "adamw", "learning_rate": 1e-3, "weight_decay": decay}},
                           2)
            for step in (1, 2):
                values = [float(x) for x in expected[step - 1].split()]
                for rank in range(4):
                    close(self, parameters(lines, rank, step), values, 8, f"wd {decay} rank {rank} step {step}")
            first = [line for line in lines if line["step"] == 1]
            # one bucket of 60 bytes in chunks of 4, 4, 4, 3 elements around a ring
            self.assertEqual(sorted(line["inter_node_bytes"] for line in first), [88, 88, 92, 92])


class LocalSgd(unittest.TestCase):
    def test_three_rounds(self):
        workload = {"model": "quadratic", "start": [2], "curvature": [[1], [3]], "optimum": [[1], [-1]]}
        method = {"name": "local-sgd", "inner_steps": 2, "optimizer": {"name": "sgd", "learning_rate": 0.1}}
        row, lines = run(2, workload, method, 6)
        local = {1: (1.900000, 1.100000), 3: (1.126000, 0.498000), 5: (0.622900, 0.106700)}
        for step, values in local.items():
            for rank in range(2):
                close(self, parameters(lines, rank, step), [values[rank]], 6, f"step {step}")
        for step, value in {2: 1.140000, 4: 0.581000, 6: 0.217650}.items():
            for rank in range(2):
                close(self, parameters(lines, rank, step), [value], 6, f"step {step}")
        self.assertEqual(row["steps"], 6)

    def test_schedule(self):
        """Cosine with warm-up, seen through SGD on a given gradient of 1: a step moves by the rate."""
        method = {"name": "local-sgd", "inner_steps": 1, "optimizer": {"name": "sgd", "learning_rate": 1.0},
                  "schedule": {"name": "cosine", "warmup_steps": 2, "total_steps": 6}}
        workload = {"model": "gradients", "start": [0], "gradients": [[[1]]], "precision": "f64"}
        _, lines = run(1, workload, method, 7)
        at = [0.0] + [parameters(lines, 0, step)[0] for step in range(1, 8)]
        moved = [at[i] - at[i + 1] for i in range(7)]
        # s = 0..6: s/2, s/2, then (1 + cos(pi (s - 2) / 4)) / 2
        close(self, moved, [0, 0.5, 1, 0.853553390593, 0.5, 0.146446609407, 0], 9)


if __name__ == "__main__":
    unittest.main()
