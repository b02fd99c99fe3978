"""The worked examples of the diloco page."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import close, parameters, predict, star

WORKLOAD = {"model": "quadratic", "start": [3.0], "curvature": [[1], [2]], "optimum": [[0], [1]]}


class DiLoCo(unittest.TestCase):
    def rounds(self, method, expected):
        """expected: per round the two workers before the average (or None) and theta_g."""
        full = {"name": "diloco", "inner_steps": 2, **method}
        _, lines = predict({"platform": star(2), "workload": WORKLOAD, "method": full,
                            "run": {"mode": "train", "steps": 6}})
        # workers' values before a round's average: the same run without a common round
        for index, theta in enumerate(expected, start=1):
            for rank in range(2):
                close(self, parameters(lines, rank, 2 * index), [theta], 6, f"round {index} rank {rank}")

    def test_inner_sgd_nesterov(self):
        self.rounds({"optimizer": {"name": "sgd", "learning_rate": 0.1},
                     "outer": {"name": "nesterov", "learning_rate": 0.7, "momentum": 0.9}},
                    [2.142150, 1.232344, 0.459916])

    def test_inner_sgd_heavy_ball(self):
        self.rounds({"optimizer": {"name": "sgd", "learning_rate": 0.1},
                     "outer": {"name": "heavy-ball", "learning_rate": 0.7, "momentum": 0.3}},
                    [2.548500, 2.048464, 1.630124])

    def test_inner_adamw_nesterov(self):
        self.rounds({"optimizer": {"name": "adamw", "learning_rate": 0.1, "beta1": 0.9, "beta2": 0.95,
                                   "epsilon": 1e-8, "weight_decay": 0.1}},
                    [2.656083, 2.176319, 1.587246])

    def test_workers_before_the_average(self):
        """Two of three inner steps: nothing has been averaged, so each worker shows its own value."""
        _, lines = predict({"platform": star(2), "workload": WORKLOAD,
                            "method": {"name": "diloco", "inner_steps": 3, "optimizer": {"name": "sgd", "learning_rate": 0.1}},
                            "run": {"mode": "train", "steps": 2}})
        close(self, parameters(lines, 0, 2), [2.430000], 6)
        close(self, parameters(lines, 1, 2), [2.280000], 6)

    def test_one_step_is_plain_averaging(self):
        """H = 1, inner SGD, outer SGD with rate 1: large-batch data parallelism, to the bit."""
        workload = {"model": "quadratic", "start": [3.0, -1.0], "curvature": [[1, 0.5], [2, 0.25]],
                    "optimum": [[0, 1], [1, -2]]}
        sgd = {"name": "sgd", "learning_rate": 0.125}
        common = {"platform": star(2), "workload": workload, "run": {"mode": "train", "steps": 5}}
        _, ours = predict({**common, "method": {"name": "diloco", "inner_steps": 1, "optimizer": sgd,
                                                "outer": {"name": "sgd", "learning_rate": 1.0}}})
        _, ddp = predict({**common, "method": {"name": "ddp", "optimizer": sgd}})
        for step in range(1, 6):
            close(self, parameters(ours, 0, step), parameters(ddp, 0, step), 6, f"step {step}")


if __name__ == "__main__":
    unittest.main()
