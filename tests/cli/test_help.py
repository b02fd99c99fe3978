"""Help, versions, lists, and the first thing that goes wrong: a misspelt word."""

import json
import os
import re
import unittest

from cli_case import SOURCE, CliCase

COMMANDS = ["run", "predict", "collective", "plot", "check", "platform", "methods", "models",
            "devices", "collectives"]


class Help(CliCase):
    def test_version(self):
        with open(os.path.join(SOURCE, "CMakeLists.txt")) as f:
            version = re.search(r"project\(longhaul VERSION ([0-9.]+)", f.read()).group(1)
        self.assertEqual(self.good("--version"), f"longhaul {version}\n")

    def test_all_commands_are_listed_and_explained(self):
        listed = re.findall(r"^  longhaul (\S+)", self.good("--help"), re.M)
        self.assertEqual(sorted(listed), sorted(COMMANDS))
        for command in COMMANDS:
            text = self.good(command, "--help")
            self.assertTrue(text.startswith(f"longhaul {command} "), text)
            self.assertRegex(text, rf"(?m)^  longhaul {command}\b", "no example")
            self.assertEqual(self.good("help", command), text)
            self.assertNotIn("\033", text)

    def test_misspelt_words(self):
        self.refused(["predikt"], 'unknown command "predikt"', 'did you mean "predict"?')
        self.refused(["xyzzy"], 'unknown command "xyzzy"', "longhaul --help")
        self.refused([], "a command is missing")
        self.refused(["a\nb"], 'unknown command "a b"')
        self.refused(["models", "a" * 5000], "gpt2-124m")
        self.refused(["predict", "--platfrom", "star"], "--platfrom", 'did you mean "--platform"?')
        self.refused(["run"], "something is missing", "longhaul run EXPERIMENT")
        self.refused(["run", "a", "b"], '"b" too many')
        self.refused(["run", "a", "--workers"], "--workers needs a value")
        self.refused(["run", "a", "--workers", "-1"], '--workers: found "-1"', "whole number")
        self.refused(["run", "a", "--workers", "0"], '--workers: found "0"', "1 or more")
        self.refused(["run", "a", "--limit", "0"], '--limit: found "0"', "1 or more")
        self.refused(["run", "a", "--limit", "9" * 20], "--limit", "9" * 20)
        self.refused(["run", "a", "--json=yes"], "--json takes no value")
        self.refused(["run", "a", "--json", "--csv"], "--json and --csv", "one of them")
        self.refused(["platform", "shwo", "star"], "show, check, export", 'did you mean "show"?')
        self.refused(["methods", "dilocco"], 'unknown method "dilocco"', '"diloco"')
        self.refused(["models", "gpt2-124n"], "gpt2-124n", "gpt2-124m")
        self.refused(["devices", "h100"], "h100", "h100-sxm")
        self.refused(["collectives", "all-redcue"], "all-redcue", '"all-reduce"')

    def test_full_standard_output(self):
        with open("/dev/full", "w") as full:
            import subprocess
            done = subprocess.run([os.environ["LONGHAUL"], "--help"], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)


class Lists(CliCase):
    def test_numbers_of_a_method(self):
        """GPT-2 124M by AdamW: 16 B per parameter, and a ring's 2 (W-1)/W * 4 B sent."""
        count = 124439808
        flags = ["--platform", "star", "--workload", "gpt2-124m"]
        numbers = json.loads(self.good("methods", "ddp", *flags, "--json"))["numbers"]
        held = numbers["peak_memory_by_owner_bytes"]
        self.assertEqual([held[owner] for owner in ("parameters", "gradients", "optimizer state")],
                         [4 * count, 4 * count, 8 * count])
        ranks = numbers["ranks"]
        sent = numbers["inter_node_bytes_per_step"] + numbers["intra_node_bytes_per_step"]
        self.assertAlmostEqual(sent / (2 * (ranks - 1) / ranks * 4 * count), 1, places=6)
        text = self.good("methods", "ddp", *flags, "--set", "method.gradient_wire=bf16")
        self.assertIn("parameters 498 MB, gradients 498 MB, optimizer state 996 MB", text)
        self.assertIn("Sent per rank and step", text)
        self.refused(["methods", "ddp", "--platform", "star"], "--platform and --workload", "no --workload")
        self.refused(["methods", *flags], "give its NAME")

    def test_methods(self):
        methods = json.loads(self.good("methods", "--json"))
        text = self.good("methods")
        names = [m["name"] for m in methods]
        for name in ("ddp", "local-sgd", "diloco", "noloco", "demo"):
            self.assertIn(name, names)
        for method in methods:
            self.assertIn(method["name"], text)
            self.assertTrue(method["paper"] and method["state"] and method["wire"])
            one = self.good("methods", method["name"])
            for option in method["options"]:
                self.assertIn(option["name"], one)

    def test_models_and_devices(self):
        models = {m["name"]: m for m in json.loads(self.good("models", "--json"))}
        self.assertEqual(models["gpt2-124m"]["parameters"], 124439808)
        text = self.good("models")
        for name in models:
            self.assertIn(name, text)
            json.loads(self.good("models", name, "--json"))
        devices = {d["name"]: d for d in json.loads(self.good("devices", "--json"))}
        self.assertEqual(devices["a100-80gb"]["peak_flop_per_s"]["bf16"], 312e12)
        self.assertIn("cpu", self.good("devices"))
        self.assertEqual(json.loads(self.good("devices", "l4", "--json")), devices["l4"])
        self.assertRegex(self.good("models"), r"(?m)^gpt2-124m +gpt +124439808 +12 +768 ")
        self.assertNotIn("..", self.refused(["devices", "nope"], "platforms/devices").stderr)

    def test_a_drawing_has_no_node_twice(self):
        for topology in ("star", "ring", "full-mesh", "torus"):
            text = self.good("platform", "show", topology, "--nodes", "2")
            self.assertNotIn("...   node-1", text)
            self.assertNotIn("... --- node-1", text)
            self.assertIn("links between nodes", text)

    def test_collectives(self):
        rows = json.loads(self.good("collectives", "--json"))
        kinds = {r["kind"] for r in rows}
        self.assertEqual(kinds, {"all-reduce", "reduce-scatter", "all-gather", "broadcast",
                                 "reduce", "all-to-all", "barrier", "point-to-point",
                                 "pairwise-exchange"})
        self.assertIn("ring", {r["algorithm"] for r in rows if r["kind"] == "all-reduce"})

    def test_data_folder_from_the_environment(self):
        done = self.run_program("devices", env={**os.environ, "LONGHAUL_DATA": SOURCE})
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
