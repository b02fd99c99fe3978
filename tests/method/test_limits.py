"""What ends a run: steps, tokens, virtual seconds, or the target loss, whichever comes first, and not a step later."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import parameters, predict, star

SGD = {"name": "sgd", "learning_rate": 0.5}
TINY_GPT = {"model": {"kind": "gpt", "depth": 1, "width": 8, "heads": 1, "context": 8}, "sequence_tokens": 8,
            "micro_batch_sequences": 2, "data": {"kind": "synthetic"}}


def run(ranks, method, limits, **network):
    """Every rank descends x^2 / 2 from 8 and halves x in a step of 1 s, so step s begins at a loss of 32 / 4^(s-1)."""
    workload = {"model": "quadratic", "start": [8.0], "curvature": [1.0], "optimum": [[0.0]] * ranks, "micro_batch_time": "1s"}
    return predict({"platform": star(ranks, **network), "workload": workload, "method": {"optimizer": SGD, **method},
                    "run": {"mode": "train", **limits}})


class Limits(unittest.TestCase):
    METHODS = ({"name": "ddp"}, {"name": "local-sgd", "inner_steps": 1}, {"name": "diloco", "inner_steps": 1, "outer": {"name": "sgd", "learning_rate": 1}})

    def test_virtual_time(self):
        """A step takes 1 s and 2 (n - 1) 2 L: no step begins once 10 s are over, and none that can is left out."""
        for ranks in (1, 2, 3, 5):
            for method in self.METHODS:
                step_s = 1 + 2 * (ranks - 1) * 2 * 0.1
                row, lines = run(ranks, method, {"virtual_time": "10s"}, latency="100ms", bandwidth="1000Gbps")
                begun_in_time = sum(1 for k in range(100) if k * step_s < 10 - 1e-9)
                self.assertEqual(row["steps"], begun_in_time, f"{ranks} {method}")
                self.assertEqual(len(lines), ranks * row["steps"])

    def test_target_loss(self):
        for ranks in (1, 2, 3, 5):
            for method in self.METHODS:
                row, lines = run(ranks, method, {"target_loss": 0.04})
                self.assertEqual(row["steps"], 6, f"{ranks} {method}")  # 32 / 4^5 = 0.031, 32 / 4^6 = 0.0078
                self.assertLessEqual(row["final_loss"], 0.04)

    def test_the_target_may_be_noted_only(self):
        """32 / 4^5 = 0.031 is seen in step 6, that ends at 6 s; the run goes on to its 10 steps."""
        row, _ = run(1, {"name": "ddp"}, {"target_loss": 0.04, "steps": 10, "stop_at_target": False})
        self.assertEqual((row["steps"], row["seconds_to_target"]), (10, 6))
        row, _ = run(1, {"name": "ddp"}, {"target_loss": 0.04, "stop_at_target": False})
        self.assertEqual(row["steps"], 100)  # a loss that stops nothing is no limit: the default

    def test_the_first_limit_counts(self):
        for limits, steps in ({"steps": 4, "virtual_time": "100s", "target_loss": 1e-9}, 4), ({"steps": 50, "virtual_time": "2.5s"}, 3), ({"steps": 50, "target_loss": 40}, 1):
            self.assertEqual(run(1, {"name": "ddp"}, limits)[0]["steps"], steps, limits)

    def test_tokens_are_steps(self):
        """2 ranks of 2 sequences of 8: 32 tokens a step; 100 tokens take 4 steps, and a schedule ends with them."""
        schedule = {"name": "linear", "final_ratio": 0.25}
        method = {"name": "ddp", "optimizer": SGD, "schedule": schedule}
        results = [predict({"platform": star(2), "workload": TINY_GPT, "method": method, "run": {"mode": "train", **limit}})
                   for limit in ({"tokens": 100}, {"steps": 4})]
        self.assertEqual([row["steps"] for row, _ in results], [4, 4])
        self.assertEqual(parameters(results[0][1], 0, 4), parameters(results[1][1], 0, 4))

    def test_target_loss_without_evaluations_is_the_training_loss(self):
        row, _ = predict({"platform": star(2), "workload": TINY_GPT, "method": {"name": "ddp", "optimizer": SGD},
                          "run": {"mode": "train", "target_loss": 100, "steps": 5}}, dump_lines=False)
        self.assertEqual(row["steps"], 1)

    def test_a_clock_of_many_days(self):
        """A collective of microseconds after ten million seconds is not taken for one faster than light."""
        workload = {"model": "quadratic", "start": [8.0], "curvature": [1.0], "optimum": [[0.0]] * 3, "micro_batch_time": "1e7s"}
        row, _ = predict({"platform": star(3, latency="1us"), "workload": workload, "method": "ddp",
                          "run": {"mode": "train", "steps": 60}}, dump_lines=False)
        self.assertEqual(row["status"], "done")


if __name__ == "__main__":
    unittest.main()
