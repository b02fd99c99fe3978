"""What the tests of the command line share: running the program, and folders that go away."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

LONGHAUL = os.environ["LONGHAUL"]
SOURCE = os.environ["LONGHAUL_SOURCE"]

QUADRATIC = {
    "model": "quadratic",
    "curvature": [1.0, 2.0, 0.5],
    "start": [1.0, -1.0, 2.0],
    "optimum": [[0.0, 1.0, 0.5], [0.5, 0.0, -0.5]],
    "micro_batch_time": "10ms",
}

THIN = {
    "nodes": 2,
    "network": {"topology": "star", "bandwidth": "100Mbps", "latency": "10ms"},
}


class CliCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="longhaul-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as f:
            f.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def run_program(self, *arguments, **keywords):
        return subprocess.run([LONGHAUL, *arguments], capture_output=True, text=True, timeout=300,
                              cwd=keywords.pop("cwd", self.folder), **keywords)

    def good(self, *arguments, **keywords):
        """Runs to exit status 0, silent on standard error; returns standard output."""
        done = self.run_program(*arguments, **keywords)
        self.assertEqual((done.returncode, done.stderr), (0, ""), f"{arguments}\n{done.stdout}")
        return done.stdout

    def refused(self, arguments, *words, status=2):
        """Ends with this status and one line of error that says all of these words."""
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}\n{done.stderr}")
        self.assertTrue(done.stderr.startswith("longhaul: error: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        return done
