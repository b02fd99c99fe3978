"""longhaul predict: files, flags and --set say the same thing; dumps; and one error per mistake."""

import csv
import io
import json
import os
import unittest

from cli_case import QUADRATIC, THIN, CliCase

COLUMNS = """scenario method platform nodes ranks workload seed mode flow_model collective_timing
status steps tokens wall_clock_s step_s compute_s exposed_communication_s hidden_communication_s
straggler_wait_s utilisation inter_node_bytes_per_step intra_node_bytes_per_step
inter_node_bytes_per_step_max peak_memory_bytes energy_joule price_usd final_loss best_loss
validation_loss validation_accuracy seconds_to_target replica_spread""".split()

SCENARIO = {
    "platform": THIN,
    "workload": QUADRATIC,
    "method": {"name": "ddp", "optimizer": {"name": "sgd", "learning_rate": 0.1}},
    "run": {"mode": "train", "steps": 3},
}


class Predict(CliCase):
    def test_row_of_a_file(self):
        self.write("s.json", SCENARIO)
        row = json.loads(self.good("predict", "s.json", "--json"))
        self.assertEqual([c for c in row if c not in ("reason", "peak_memory_by_owner_bytes")], COLUMNS)
        self.assertEqual(sum(row["peak_memory_by_owner_bytes"].values()), row["peak_memory_bytes"])
        self.assertEqual((row["status"], row["steps"], row["nodes"], row["method"]),
                         ("done", 3, 2, "ddp"))
        # three micro-batches of 10 ms at least, and the compute is what the scenario states
        self.assertGreaterEqual(row["wall_clock_s"], 0.03)
        self.assertAlmostEqual(row["compute_s"], 0.03, places=9)

    def test_flags_say_the_same_as_a_file(self):
        self.write("s.json", SCENARIO)
        self.write("thin.json", THIN)
        file = json.loads(self.good("predict", "s.json", "--json"))
        flags = json.loads(self.good(
            "predict", "--platform", json.dumps(THIN), "--workload", json.dumps(QUADRATIC),
            "--method", "ddp", "--mode", "train", "--set", "run.steps=3", "--set",
            "method.optimizer.name=sgd", "--set", "method.optimizer.learning_rate=0.1", "--json"))
        self.assertEqual(file, flags)
        self.good("predict", "--platform", "thin.json", "--workload", "gpt2-124m", "--method",
                  "ddp", "--set", "run.steps=1")

    def test_without_steps_a_round_is_run(self):
        """Else a method whose rounds are longer than 100 steps would seem to send nothing."""
        flags = ["predict", "--platform", json.dumps(THIN), "--workload", json.dumps(QUADRATIC),
                 "--json"]

        def steps(method, *more):
            row = json.loads(self.good(*flags, "--method", method, *more))
            return row["steps"], row["inter_node_bytes_per_step"] > 0
        self.assertEqual(steps("ddp"), (100, True))
        self.assertEqual(steps("diloco"), (500, True))
        self.assertEqual(steps('{"name": "diloco", "inner_steps": 130}'), (130, True))
        self.assertEqual(steps("noloco"), (100, True))
        self.assertEqual(steps("diloco", "--set", "run.steps=100"), (100, False))

    def test_parts_in_files_of_their_own(self):
        self.write("s.json", SCENARIO)
        self.write("thin.json", THIN)
        self.write("work.json", QUADRATIC)
        self.write("ddp.json", SCENARIO["method"])
        file = self.good("predict", "s.json", "--json")
        parts = self.good("predict", "--platform", "thin.json", "--workload", "work.json", "--method", "ddp.json",
                          "--mode", "train", "--set", "run.steps=3", "--json")
        self.assertEqual(json.loads(file)["final_loss"], json.loads(parts)["final_loss"])

    def test_schema(self):
        self.write("s.json", {"schema": "longhaul/scenario/1", **SCENARIO})
        self.good("predict", "s.json")
        self.write("s.json", {"schema": "longhaul/platform/1", **SCENARIO})
        self.refused(["predict", "s.json"], "schema", "longhaul/scenario/1")

    def test_a_file_is_overridden(self):
        self.write("s.json", {**SCENARIO, "methods": [SCENARIO["method"]]})
        self.write("t.json", {k: v for k, v in
                              {**SCENARIO, "methods": [SCENARIO["method"]]}.items() if k != "method"})
        row = json.loads(self.good("predict", "t.json", "--set", "run.steps=2", "--set",
                                   "method.optimizer.learning_rate=0.5", "--json"))
        self.assertEqual(row["steps"], 2)
        row = json.loads(self.good("predict", "t.json", "--method", "diloco", "--json"))
        self.assertEqual(row["method"], "diloco")

    def test_forms_of_output(self):
        self.write("s.json", SCENARIO)
        table = list(csv.reader(io.StringIO(self.good("predict", "s.json", "--csv"))))
        self.assertNotIn("peak_memory_by_owner_bytes", table[0])
        self.assertEqual(table[0][:len(COLUMNS)], COLUMNS)
        self.assertEqual(len(table), 2)
        text = self.good("predict", "s.json")
        self.assertRegex(text, r"(?m)^steps +3$")
        self.assertRegex(text, r"(?m)^compute_s +30\.0 ms$")

    def test_same_seed_same_bytes(self):
        self.write("s.json", SCENARIO)
        first = self.good("predict", "s.json", "--json", "--dump", "a.jsonl")
        self.assertEqual(first, self.good("predict", "s.json", "--json", "--dump", "b.jsonl"))
        self.assertEqual(self.read("a.jsonl"), self.read("b.jsonl"))

    def test_dump(self):
        """SGD on a quadratic: x <- x - 0.1 mean_i a (x - c_i), by hand in double."""
        self.write("s.json", SCENARIO)
        self.good("predict", "s.json", "--dump", "d.jsonl")
        lines = [json.loads(line) for line in self.read("d.jsonl").splitlines()]
        x = list(QUADRATIC["start"])
        mean = [sum(c) / 2 for c in zip(*QUADRATIC["optimum"])]
        for step in (1, 2, 3):
            x = [xi - 0.1 * a * (xi - m) for xi, a, m in zip(x, QUADRATIC["curvature"], mean)]
            here = [line for line in lines if line["step"] == step]
            self.assertEqual(sorted(line["rank"] for line in here), [0, 1])
            for line in here:
                for got, expected in zip(line["parameters"], x):
                    self.assertAlmostEqual(got, expected, delta=1e-6)  # f32 in the program
                # two ranks: each sends half a vector twice, 3 f32 values in chunks of 2 and 1
                self.assertEqual(line["inter_node_bytes"] + line["intra_node_bytes"], 12 * step)

    def test_the_environment_of_a_file(self):
        """A platform file is looked for beside the scenario, wherever the program is started."""
        self.write("sub/thin.json", THIN)
        path = self.write("sub/s.json", {**SCENARIO, "platform": {"file": "thin.json", "nodes": 2}})
        self.good("predict", path, cwd="/")
        self.good("predict", os.path.join("sub", "s.json"))


class Mistakes(CliCase):
    def bad(self, change, *words):
        scenario = json.loads(json.dumps(SCENARIO))
        change(scenario)
        self.write("s.json", scenario)
        self.refused(["predict", "s.json"], *words)

    def test_files(self):
        self.refused(["predict", "none.json"], "none.json", "no such file")
        self.write("s.json", '{"platform": {},\n "workload": }')
        self.refused(["predict", "s.json"], "s.json: line 2, column 14", "not valid JSON")
        self.write("s.json", '{"run": {}, "run": {}}')
        self.refused(["predict", "s.json"], "s.json: run", "twice")
        self.write("s.json", "[]")
        self.refused(["predict", "s.json"], "(top level)", "an object")
        self.write("s.json", '{"platfrom": {}}')
        self.refused(["predict", "s.json"], "s.json", '"platfrom"', 'did you mean "platform"?')
        self.write("s.json", "{}")
        self.refused(["predict", "s.json"], "s.json: no platform")
        self.refused(["predict", "."], ".: found a folder")
        self.write("s.json", SCENARIO)
        for place in (".", "nowhere/d.jsonl", ""):
            done = self.refused(["predict", "s.json", "--dump", place], "--dump", f'"{place}"')
            self.assertEqual(done.stdout, "")
        self.refused(["predict", "--platform", "star"], "no workload", "--workload")

    def test_places_and_suggestions(self):
        self.bad(lambda s: s.update(metod=1), "s.json", '"metod"', 'did you mean "method"?')
        self.bad(lambda s: s["method"].update(name="dpd"), "method.name", '"dpd"', '"ddp"?')
        self.bad(lambda s: s["method"].update(bukcet="1MB"), "method", '"bukcet"', '"bucket"?')
        self.bad(lambda s: s["method"].update(bucket=25), "method.bucket", "found 25", "unit")
        self.bad(lambda s: s["method"].update(bucket="25ms"), "method.bucket", '"25ms"', "size")
        self.bad(lambda s: s["method"]["optimizer"].update(learning_rate=-1),
                 "method.optimizer.learning_rate", "found -1")
        self.bad(lambda s: s["platform"].update(nodes=0), "nodes", "found 0")
        self.bad(lambda s: s["platform"]["network"].update(bandwidth=100), "network.bandwidth",
                 "found 100", "without a unit")
        self.bad(lambda s: s["platform"]["network"].update(bandwidth="100MB"), "network.bandwidth",
                 '"MB" is no such unit')
        self.bad(lambda s: s["platform"]["network"].update(bandwidth="-1Mbps"), "network.bandwidth",
                 "not negative")
        self.bad(lambda s: s["platform"]["network"].update(latency="10Mbps"), "network.latency",
                 "a time")
        self.bad(lambda s: s["platform"]["network"].update(topology="starr"), "topology", '"star"?')
        self.bad(lambda s: s["run"].update(mode="trian"), "run.mode", '"train"?')
        self.bad(lambda s: s["run"].update(steps=1.5), "run.steps", "found 1.5", "whole number")
        self.bad(lambda s: s["workload"].update(model="gpt2-124n"), "gpt2-124n", "gpt2-124m")

    def test_what_the_host_does_not_have(self):
        train = ["predict", "--platform", "star", "--method", "ddp", "--mode", "train", "--workload"]
        gpt = {"kind": "gpt", "depth": 1, "width": 16, "heads": 2, "context": 16}
        self.refused([*train, json.dumps({"model": gpt, "sequence_tokens": 16,
                                          "data": {"kind": "text", "path": "/nope"}})],
                     "workload.data.path", '"/nope"')
        self.refused([*train, json.dumps({"model": {"kind": "mlp", "hidden": [8]},
                                          "data": {"kind": "images", "path": "/nope"}})],
                     "workload.data.path", "dataset-fashion-mnist")
        self.refused([*train, "gpt2-1.5b", "--set", "workload.data.kind=synthetic", "--set",
                      "platform.nodes=4096"], "4096 ranks", "of this host")

    def test_sweeps_belong_to_run(self):
        self.bad(lambda s: s["run"].update(seed={"sweep": [1, 2]}), "run.seed", "longhaul run")
        self.bad(lambda s: s.update(methods=[{"name": "ddp"}, {"name": "demo"}]) or
                 s.pop("method"), "methods", "one method")

    def test_set(self):
        self.write("s.json", SCENARIO)
        s = ["predict", "s.json", "--set"]
        self.refused([*s, "steps=3"], "--set", '"steps"', "run.*")
        self.refused([*s, "run.steps"], "PATH=VALUE")
        self.refused([*s, "pltform.nodes=3"], 'did you mean "platform"?')
        self.refused([*s, "run.steps.x=3"], "run.steps.x", "plain value")
        self.refused([*s, "run.steps=three"], "run.steps", '"three"')


if __name__ == "__main__":
    unittest.main()
