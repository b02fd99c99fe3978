"""The worked examples of the pages fsdp (a and c) and hsdp-adamw, and the sharded methods' agreement with ddp."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import close, error_of, parameters, predict, star


def page_gradient(rank, step, n=15):
    """hsdp-adamw and flexdemo: gradient of a rank at a step."""
    return [((2 * i * i + 4 * rank * i + 3 * rank + 3 * step * i + step) % 17 - 8) / 8 for i in range(n)]


PAGE = {"model": "gradients", "start": [1.0] * 15,
        "gradients": [[page_gradient(rank, step) for step in (1, 2)] for rank in range(4)]}
ADAMW = {"name": "adamw", "learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}


def whole(lines, ranks, step):
    """The shards of these ranks, put together."""
    values = []
    for rank in ranks:
        line = next(line for line in lines if line["rank"] == rank and line["step"] == step)
        assert line["offset"] == len(values), line
        values += line["parameters"]
    return values


class Hsdp(unittest.TestCase):
    EXPECTED = {
        0: ([1.00100000, 1.00000000, .99900000, 1.00000000, .99900000, .99900000, .99900000, .99900000,
             1.00100000, 1.00100000, 1.00100000, 1.00100000, 1.00100000, .99900000, 1.00100000],
            [1.00195749, 1.00074414, .99812894, 1.00074414, .99799875, .99802546, .99965533, .99932528,
             1.00148548, 1.00132258, 1.00178333, 1.00200000, 1.00193218, .99853053, 1.00199117]),
        0.01: ([1.00099000, .99999000, .99899000, .99999000, .99899000, .99899000, .99899000, .99899000,
                1.00099000, 1.00099000, 1.00099000, 1.00099000, 1.00099000, .99899000, 1.00099000],
               [1.00193748, 1.00072414, .99810895, 1.00072414, .99797876, .99800547, .99963534, .99930529,
                1.00146547, 1.00130257, 1.00176332, 1.00197999, 1.00191217, .99851054, 1.00197116])}

    def run_page(self, **method):
        return predict({"platform": star(2, 2), "workload": PAGE, "method": {"name": "hsdp", **method},
                        "run": {"mode": "train", "steps": 2}})

    def test_worked_example(self):
        for decay, (first, second) in self.EXPECTED.items():
            for division in "after-sum", "pre-and-post":
                _, lines = self.run_page(optimizer={**ADAMW, "weight_decay": decay}, division=division)
                for replica in (0, 1), (2, 3):
                    close(self, whole(lines, replica, 1), first, 8)
                    close(self, whole(lines, replica, 2), second, 8)

    def test_bytes_of_the_example(self):
        """All-gathers 16 forward and 16 backward, reduce-scatter 16 inside; all-reduce 16 across."""
        for reshards, inside in (True, 48), (False, 32):
            _, lines = self.run_page(optimizer=ADAMW, reshard_after_forward=reshards)
            for line in lines:
                self.assertEqual(line["intra_node_bytes"], inside * line["step"])
                self.assertEqual(line["inter_node_bytes"], 16 * line["step"])

    def test_ddp_sends_90_bytes_in_the_mean(self):
        scenario = {"platform": star(4), "workload": PAGE, "method": {"name": "ddp", "optimizer": ADAMW},
                    "run": {"mode": "train", "steps": 1, "collectives": {"all_reduce": "ring"}}}
        row, lines = predict(scenario)
        self.assertEqual(sorted(line["inter_node_bytes"] for line in lines), [88, 88, 92, 92])
        self.assertEqual(row["inter_node_bytes_per_step"], 90)
        close(self, parameters(lines, 0, 1), self.EXPECTED[0][0], 8)

    def test_shard_ranks_must_divide(self):
        error = error_of({"platform": star(1, 4), "workload": PAGE, "run": {"mode": "cost", "steps": 1},
                          "method": {"name": "hsdp", "shard_ranks": 3}})
        self.assertIn("shard_ranks: found 3, allowed: a divisor of 4, the accelerators of a node", error)


class Fsdp(unittest.TestCase):
    QUADRATIC = {"model": "quadratic", "start": [1, -1, 2, .5], "curvature": [[1, 2, .5, 1], [2, 1, 1.5, .25]],
                 "optimum": [[0, 0, 1, -1], [.5, -.5, 0, 1]]}

    def test_example_a(self):
        method = {"name": "fsdp", "parameter_wire": "f32", "gradient_wire": "f32", "clip_norm": 1.0,
                  "optimizer": {"name": "adamw", "learning_rate": .1, "beta1": .9, "beta2": .95, "epsilon": 1e-8,
                                "weight_decay": .1}}
        _, lines = predict({"platform": star(2), "workload": self.QUADRATIC, "method": method,
                            "run": {"mode": "train", "steps": 3}})
        for step, expected in enumerate([[0.890000, -0.890000, 1.880000, 0.395000],
                                         [0.781265, -0.781160, 1.761167, 0.291041],
                                         [0.674013, -0.673548, 1.643467, 0.188108]], 1):
            close(self, whole(lines, (0, 1), step), expected, 6)

    def test_example_c(self):
        """NoLoCo's small model over 8 ranks in bf16: bytes sent per rank and step."""
        for method, sent in (({"name": "fsdp", "reshard_root": True}, 1626851520),
                             ({"name": "ddp", "gradient_wire": "bf16"}, 1084567680)):
            workload = {"model": "noloco-small", "sequence_tokens": 128, "micro_batch_sequences": 1}
            row, _ = predict({"platform": star(8), "workload": workload, "method": method,
                              "run": {"mode": "cost", "steps": 1, "collectives": {
                                  kind: "ring" for kind in ("all_reduce", "all_gather", "reduce_scatter")}}},
                             dump_lines=False)
            self.assertEqual(row["inter_node_bytes_per_step"], sent, method["name"])


GPT = {"model": {"kind": "gpt", "depth": 3, "width": 8, "heads": 2, "context": 8, "vocabulary": 32,
                 "tied": False}, "sequence_tokens": 8,
       "micro_batch_sequences": 2, "data": {"kind": "synthetic", "states": 16}}


class LikeDdp(unittest.TestCase):
    """In f32 on every wire a sharded run is ddp's run, but for the order of sums."""

    def last(self, method, workload, nodes=3, accelerators=2):
        _, lines = predict({"platform": star(nodes, accelerators), "workload": workload, "method": method,
                            "run": {"mode": "train", "steps": 5}})
        return parameters(lines, 0, 5)

    def test_parameters(self):
        f32 = {"parameter_wire": "f32", "gradient_wire": "f32"}
        for tied, micro_batches in (False, 3), (True, 1):
            workload = {**GPT, "model": {**GPT["model"], "tied": tied}, "micro_batches": micro_batches}
            shared = {"clip_norm": 0.1, "optimizer": {"name": "sgd", "learning_rate": 0.5, "momentum": 0.9}}
            expected = self.last({"name": "ddp", **shared}, workload)
            for method in ({"name": "fsdp"}, {"name": "fsdp", "reshard_after_forward": False},
                           {"name": "fsdp", "prefetch_units": 3, "reshard_root": True},
                           {"name": "fsdp", "prefetch_units": 0}, {"name": "hsdp"},
                           {"name": "hsdp", "shard_ranks": 1, "division": "pre-and-post"}):
                got = self.last({**method, **f32, **shared}, workload)
                self.assertEqual(len(got), len(expected))
                worst = max(abs(a - b) for a, b in zip(got, expected))
                self.assertLess(worst, 2e-6, f"{method}, {micro_batches} micro-batches, tied {tied}")


if __name__ == "__main__":
    unittest.main()
