"""longhaul run: the same bytes for any number of workers and after any interruption."""

import csv
import io
import json
import os
import pty
import signal
import subprocess
import time
import unittest

from cli_case import LONGHAUL, QUADRATIC, THIN, CliCase

EXPERIMENT = {
    "schema": "longhaul/experiment/1",
    "title": "small",
    "platform": {**THIN, "network": {**THIN["network"],
                                     "bandwidth": {"sweep": ["1Mbps", "100Mbps"]}}},
    "workload": QUADRATIC,
    "methods": [{"name": "ddp", "optimizer": {"name": "sgd", "learning_rate": 0.1}},
                {"name": "diloco", "inner_steps": {"sweep": [2, 5]}}],
    "run": {"mode": "train", "steps": 20, "seed": 1},
}


class Run(CliCase):
    def experiment(self, name="e", **changes):
        self.write(f"{name}/experiment.json", {**EXPERIMENT, **changes})
        return self.path(name)

    def tables(self, name="e"):
        return self.read(f"{name}/results/scenarios.csv"), self.read(f"{name}/results/curves.csv")

    def test_grid_and_table(self):
        folder = self.experiment()
        dry = self.good("run", folder, "--dry-run").splitlines()
        self.assertEqual(dry[0], "to run    ddp platform.network.bandwidth=1Mbps")
        self.assertEqual(dry[-1], "6 scenarios, 6 to run")
        self.assertFalse(os.path.exists(self.path("e/results")))
        text = self.good("run", folder)
        self.assertEqual(len(text.splitlines()), 7, text)
        heads = text.splitlines()[0].split()
        self.assertEqual(heads[:6], ["method", "workload", "nodes", "bandwidth", "inner_steps",
                                     "status"])  # what tells rows apart, before what came of them
        self.assertNotRegex(text, r"(?m) $")
        rows = list(csv.DictReader(io.StringIO(self.tables()[0].decode())))
        self.assertEqual([(r["method"], r["platform.network.bandwidth"], r["method.inner_steps"])
                          for r in rows],
                         [("ddp", "1Mbps", ""), ("diloco", "1Mbps", "2"), ("diloco", "1Mbps", "5"),
                          ("ddp", "100Mbps", ""), ("diloco", "100Mbps", "2"),
                          ("diloco", "100Mbps", "5")])
        self.assertEqual({r["status"] for r in rows}, {"done"})
        curves = list(csv.DictReader(io.StringIO(self.tables()[1].decode())))
        self.assertEqual({c["scenario"] for c in curves}, {r["scenario"] for r in rows})
        self.assertIn("6 scenarios, 0 to run", self.good("run", folder, "--dry-run"))
        self.assertEqual(json.loads(self.good("run", folder, "--json"))[5]["method.inner_steps"], 5)

    def test_workers_do_not_show(self):
        self.good("run", self.experiment("one"), "--workers", "1")
        self.good("run", self.experiment("two"), "--workers", "2")
        self.assertEqual(self.tables("one"), self.tables("two"))

    def test_pieces_do_not_show(self):
        self.good("run", self.experiment("whole"))
        folder = self.experiment("pieces")
        self.good("run", folder, "--only", "inner_steps=5")
        self.good("run", folder, "--limit", "1")
        self.assertNotEqual(self.tables("whole"), self.tables("pieces"))
        self.good("run", folder)
        self.assertEqual(self.tables("whole"), self.tables("pieces"))
        self.refused(["run", folder, "--only", "zero1"], '"zero1"', "6 scenarios")

    def interrupt(self, name, how):
        """Starts a run, and ends it in this way when the first row is stored."""
        folder = self.experiment(name, run={"mode": "train", "steps": 6000, "seed": 1})
        running = subprocess.Popen([LONGHAUL, "run", folder, "--workers", "1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        rows = self.path(f"{name}/results/rows")
        for _ in range(6000):
            if os.path.isdir(rows) and any(f.endswith(".json") for f in os.listdir(rows)):
                break
            time.sleep(0.01)
        os.killpg(running.pid, how) if how == signal.SIGINT else running.send_signal(how)
        _, stderr = running.communicate(timeout=60)
        return folder, running.returncode, stderr

    def test_interruptions_do_not_show(self):
        whole = self.experiment("whole", run={"mode": "train", "steps": 6000, "seed": 1})
        self.good("run", whole)
        for name, how, status in (("int", signal.SIGINT, 130), ("kill", signal.SIGKILL, -9)):
            folder, returncode, stderr = self.interrupt(name, how)
            if returncode == 0:
                self.skipTest("the run was over before it could be interrupted")
            self.assertEqual(returncode, status, stderr)
            if how == signal.SIGINT:
                self.assertIn("longhaul: error: interrupted", stderr)
            dry = self.good("run", folder, "--dry-run")
            self.assertIn("finished", dry)
            self.good("run", folder)
            self.assertEqual(self.tables("whole"), self.tables(name))

    def test_bad_input_starts_nothing(self):
        bad = [({"platform": {**THIN, "nodes": {"sweep": [2, 0]}}}, ["nodes", "found 0"]),
               ({"methods": [{"name": "ddp"}, {"name": "dilocco"}]}, ["method.name", '"diloco"?']),
               ({"methods": [{"name": "diloco", "inner_steps": 0}]}, ["method.inner_steps"]),
               ({"workloads": {}}, ['"workloads"', '"workload"?']),
               ({"run": {"steps": {"sweep": []}}}, ["run.steps.sweep", "empty"])]
        for i, (change, words) in enumerate(bad):
            folder = self.experiment(f"bad{i}", **change)
            self.refused(["run", folder], "experiment.json", *words)
            rows = self.path(f"bad{i}/results/rows")
            self.assertFalse(os.path.isdir(rows) and os.listdir(rows))
        self.write("broken/experiment.json", "{\n  \"methods\": [\n")
        self.refused(["run", self.path("broken")], "broken/experiment.json: line 3, column 1")
        self.refused(["run", self.path("nowhere")], "nowhere/experiment.json", "no such file")

    def test_a_pattern_that_fits_nothing(self):
        folder = self.experiment("fits")
        for more in ([], ["--dry-run"]):
            done = self.refused(["run", folder, "--only", "nonsense", *more], '"nonsense"', "--dry-run")
            self.assertEqual(done.stdout, "")

    def test_full_disk(self):
        """Files limited to fewer bytes than a table has: exit 1, finished rows kept and taken up."""
        whole = self.experiment("whole")
        self.good("run", whole)
        folder = self.experiment("full")
        largest = max(len(self.read(f"whole/results/rows/{f}"))
                      for f in os.listdir(self.path("whole/results/rows")))
        limit = (largest + 200) // 512 + 1  # in blocks of 512 bytes: rows fit, curves.csv does not
        self.assertGreater(len(self.tables("whole")[1]), 512 * limit)
        done = subprocess.run(["sh", "-c", f"trap '' XFSZ; ulimit -f {limit}; exec \"$0\" run \"$1\"",
                               LONGHAUL, folder], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("writing failed", done.stderr)
        self.assertIn(".csv", done.stderr)
        self.assertIn("6 scenarios, 0 to run", self.good("run", folder, "--dry-run"))
        self.good("run", folder)
        self.assertEqual(self.tables("whole"), self.tables("full"))

    def test_progress_is_for_terminals(self):
        """On a terminal standard error shows progress; standard output stays free of it."""
        folder = self.experiment()
        terminal, end = pty.openpty()
        running = subprocess.Popen([LONGHAUL, "run", folder, "--workers", "2"],
                                   stdout=subprocess.PIPE, stderr=end)
        os.close(end)
        stdout, _ = running.communicate(timeout=60)
        shown = b""
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        os.close(terminal)
        self.assertEqual(running.returncode, 0)
        self.assertIn(b"6 of 6 done, 0 running, 0 failed", shown)
        self.assertTrue(shown.endswith(b"\r\033[K"), shown[-40:])
        self.assertNotIn(b"\033", stdout)

    def test_parts(self):
        folder = self.experiment("parts", parts=[
            {"name": "a", "platform": {"network": {"bandwidth": "1Mbps"}}},
            {"name": "b", "run": {"steps": 3}, "methods": [{"name": "demo"}]}])
        self.good("run", folder)
        rows = list(csv.DictReader(io.StringIO(self.tables("parts")[0].decode())))
        self.assertEqual([(r["part"], r["method"], r["steps"]) for r in rows],
                         [("a", "ddp", "20"), ("a", "diloco", "20"), ("a", "diloco", "20"),
                          ("b", "demo", "3"), ("b", "demo", "3")])


if __name__ == "__main__":
    unittest.main()
