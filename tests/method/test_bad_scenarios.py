"""Scenarios that must be refused: exit status 2 and one line with the place, what was found, what is allowed."""
import copy
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import error_of, predict, star

GOOD = {"platform": star(4), "workload": {"model": "quadratic", "start": [1.0], "curvature": [1.0], "optimum": [[0.0]] * 4},
        "method": {"name": "ddp"}, "run": {"mode": "train", "steps": 2}}


def changed(path, value):
    """GOOD with one value replaced; a path ends at the key to set."""
    scenario = copy.deepcopy(GOOD)
    node = scenario
    *parents, last = path.split(".")
    for key in parents:
        node = node.setdefault(key, {})
    node[last] = value
    return scenario


class BadScenarios(unittest.TestCase):
    CASES = [
        # path, value, the place in the message, what else it says
        ("platform.nodes", 0, "platform.nodes", "allowed"),
        ("platform.nodes", 2.5, "platform.nodes", "allowed"),
        ("platform.network.bandwidth", "-1Gbps", "platform.network.bandwidth", "found"),
        ("platform.network.bandwidth", 1000, "platform.network.bandwidth", "unit"),
        ("platform.network.bandwidth", "10ms", "platform.network.bandwidth", "allowed"),
        ("platform.network.latency", "1Gbps", "platform.network.latency", "allowed"),
        ("platform.network.topology", "start", "platform.network.topology", 'did you mean "star"'),
        ("platform.network.bandwith", "1Gbps", "bandwith", 'did you mean "bandwidth"'),
        ("platform.device", "a1000", "device", "allowed"),
        ("workload.model", "gtp2-124m", "workload.model", "gpt2-124m"),
        ("workload.optimum", [[0.0]] * 3, "workload", "rows for 4"),
        ("workload.curvature", [-1.0], "workload.curvature", "found"),
        ("workload.strat", [1.0], "strat", 'did you mean "start"'),
        ("workload.precision", "f8", "workload.precision", "allowed"),
        ("method.name", "dpd", "method.name", 'did you mean "ddp"'),
        ("method.inner_steps", 5, "inner_steps", "allowed"),
        ("method.gradient_wire", "f31", "method.gradient_wire", "f32"),
        ("method.bucket", 25, "method.bucket", "unit"),
        ("method.optimizer", {"name": "adamw", "beta1": 1.0}, "method.optimizer.beta1", "below 1"),
        ("method.optimizer", {"name": "adam"}, "method.optimizer.name", 'did you mean "adamw"'),
        ("method.schedule", {"name": "cosine", "final_ratio": 2}, "method.schedule.final_ratio", "found"),
        ("run.mode", "trian", "run.mode", 'did you mean "train"'),
        ("run.steps", 0, "run.steps", "allowed"),
        ("run.virtual_time", "5Gbps", "run.virtual_time", "allowed"),
        ("run", {"mode": "train", "tokens": 100}, "run.tokens", "allowed: steps"),
        ("run", {"mode": "cost", "target_loss": 1}, "run.target_loss", "cost mode"),
        ("run.flow_model", "udp", "run.flow_model", "ideal"),
        ("run.compute_time", "measured", "run.compute_time", "profile"),
        ("run.collectives", {"timing": "fluidd"}, "run.collectives.timing", 'did you mean "fluid"'),
        ("run.collectives", {"all_reduce": "rings"}, "run.collectives.all_reduce", 'did you mean "ring"'),
        ("run.stpes", 5, "stpes", 'did you mean "steps"'),
        ("plaform", {}, "plaform", 'did you mean "platform"'),
    ]

    def test_the_good_one_runs(self):
        predict(GOOD)

    def test_each_mistake(self):
        for path, value, place, text in self.CASES:
            with self.subTest(path=path, value=value):
                error = error_of(changed(path, value))
                self.assertIn(place, error)
                self.assertIn(text, error)
                self.assertEqual(len(error.strip().splitlines()), 1, error)

    def test_malformed_json_names_line_and_column(self):
        error = error_of('{"platform": {},\n "workload": {"model" "quadratic"}}')
        self.assertRegex(error, r"2:\d+|line 2, column \d+")

    def test_more_memory_than_the_host_has(self):
        scenario = {"platform": star(512), "workload": {"model": "gpt2-1.5b", "data": {"kind": "synthetic"}},
                    "method": "ddp", "run": {"mode": "train", "steps": 1}}
        error = error_of(scenario)
        self.assertIn("TB", error)
        self.assertIn("host", error)

    def test_missing_data(self):
        workload = {"model": {"kind": "gpt", "depth": 1, "width": 8, "heads": 1, "context": 8}, "sequence_tokens": 8,
                    "data": {"kind": "text", "path": "no/such/file.txt"}}
        error = error_of({**GOOD, "workload": workload})
        self.assertIn("no/such/file.txt", error)

    def test_a_group_larger_than_the_world(self):
        error = error_of({**GOOD, "method": {"name": "noloco", "group_size": 5}})
        self.assertIn("group_size", error)
        self.assertIn("2..4", error)

    def test_a_disconnected_network(self):
        network = {"topology": "custom", "links": [{"name": "a", "between": ["node-0", "node-1"], "bandwidth": "1Gbps", "latency": "1us"}]}
        scenario = changed("platform.network", network)
        self.assertIn("platform.network", error_of(scenario))

    def test_simulated_device_too_small_is_a_row(self):
        scenario = {"platform": {**star(2), "device": "rtx-4090"}, "workload": {"model": "llama-2-7b", "micro_batch_sequences": 1,
                    "sequence_tokens": 128, "precision": "bf16"}, "method": "ddp", "run": {"mode": "cost", "steps": 1}}
        row, _ = predict(scenario)
        self.assertEqual(row["status"], "out-of-memory")
        self.assertIn("parameters", row["reason"])


if __name__ == "__main__":
    unittest.main()
