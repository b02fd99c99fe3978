"""The worked examples of the zero1-adamw and hsdp-adamw pages that need ddp and local-sgd."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import close, parameters, predict, star


def run(nodes, workload, method, steps):
    return predict({"platform": star(nodes), "workload": workload, "method": method,
                    "run": {"mode": "train", "steps": steps}})


class AdamW(unittest.TestCase):
    ADAMW = {"name": "adamw", "learning_rate": 0.01, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1}

    def test_three_steps_of_two_workers(self):
        workload = {"model": "quadratic", "start": [1, -2, 0.5], "curvature": [[1, 1, 1], [2, 2, 2]],
                    "optimum": [[0, 1, 2], [2, -1, 1]]}
        _, lines = run(2, workload, {"name": "ddp", "optimizer": self.ADAMW}, 3)
        for step, theta in enumerate([[1.009000, -1.988000, 0.509500], [1.017986, -1.976013, 0.518989],
                                      [1.026956, -1.964040, 0.528465]], start=1):
            for rank in range(2):
                close(self, parameters(lines, rank, step), theta, 6, f"rank {rank} step {step}")


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
