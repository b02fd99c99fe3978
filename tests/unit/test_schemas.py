"""The shipped JSON files against their schemas, by a validator that is not ours; and the schemas
against mistakes that they must see."""

import copy
import json
import os
import pathlib
import unittest

import jsonschema

ROOT = pathlib.Path(os.environ.get("LONGHAUL_SOURCE", pathlib.Path(__file__).parents[2]))
SCHEMAS = ROOT / "platforms" / "schemas"


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def validator(kind):
    schema = read(SCHEMAS / f"{kind}.schema.json")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, path + (key,))
    elif isinstance(value, list):
        for i, member in enumerate(value):
            yield from leaves(member, path + (i,))
    else:
        yield path, value


def changed(value, path, new):
    result = copy.deepcopy(value)
    place = result
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = new
    return result


def is_quantity(path, value):
    """Text such as "10Gbps" where a name or prose would not start with a digit."""
    return isinstance(value, str) and value[:1].isdigit() and path[-1] not in ("title", "source")


class Shipped(unittest.TestCase):
    def check_files(self, kind, files):
        files = sorted(files)
        self.assertTrue(files, f"no {kind} files")
        judge = validator(kind)
        for path in files:
            with self.subTest(path=str(path)):
                content = read(path)
                errors = [f"{e.json_path}: {e.message}" for e in judge.iter_errors(content)]
                self.assertEqual(errors, [])
                self.assertEqual(content.get("schema"), f"longhaul/{kind}/1")
                if kind in ("platform", "device"):
                    self.assertEqual(content["name"], path.stem)
                    self.assertTrue(content.get("title"))

    def test_platforms(self):
        self.check_files("platform", (ROOT / "platforms").glob("*.json"))

    def test_devices(self):
        self.check_files("device", (ROOT / "platforms" / "devices").glob("*.json"))

    def test_experiments(self):
        self.check_files("experiment", (ROOT / "experiments").glob("*/experiment.json"))

    def test_all_topologies_are_shipped(self):
        shipped = {read(p).get("network", {}).get("topology") for p in (ROOT / "platforms").glob("*.json")}
        for name in ("star", "full-mesh", "ring", "fat-tree", "torus", "dragonfly", "regions", "custom"):
            self.assertIn(name, shipped)


class Mistakes(unittest.TestCase):
    """Every shipped file, changed in every place: a schema that lets this pass says nothing."""

    def refuse(self, judge, content, what):
        self.assertFalse(judge.is_valid(content), f"passes: {what}")

    def each(self, kind):
        folder = ROOT / "platforms" / ("devices" if kind == "device" else "")
        for path in sorted(folder.glob("*.json")):
            yield path.name, read(path)

    def test_bare_numbers_and_wrong_units(self):
        for kind in ("platform", "device"):
            judge = validator(kind)
            for name, content in self.each(kind):
                for path, value in leaves(content):
                    # the members of "device" are the other schema's business
                    if path[0] == "device" or not is_quantity(path, value):
                        continue
                    for wrong in (12.5, "12.5", "12.5parsec", "-" + value, ""):
                        self.refuse(judge, changed(content, path, wrong), f"{name} {path} {wrong!r}")

    def test_misspelt_keys(self):
        for kind in ("platform", "device"):
            judge = validator(kind)
            for name, content in self.each(kind):
                for key in list(content):
                    wrong = dict(content)
                    wrong[key + "x"] = wrong.pop(key)
                    self.refuse(judge, wrong, f"{name}: {key}x")
                for part in ("network", "fabric", "interfaces"):
                    for key in content.get(part, {}):
                        wrong = copy.deepcopy(content)
                        wrong[part][key + "x"] = wrong[part].pop(key)
                        self.refuse(judge, wrong, f"{name}: {part}.{key}x")

    def test_experiment(self):
        judge = validator("experiment")
        good = {"schema": "longhaul/experiment/1", "platform": {"file": "star"},
                "workload": {"model": "gpt2-124m"}, "methods": [{"name": "ddp"}], "run": {"steps": 3}}
        self.assertTrue(judge.is_valid(good))
        for key in good:
            wrong = dict(good)
            wrong[key + "x"] = wrong.pop(key)
            self.refuse(judge, wrong, f"{key}x")
        self.refuse(judge, {**good, "run": {"stepz": 3}}, "run.stepz")
        self.refuse(judge, {**good, "platform": {"fil": "star"}}, "platform.fil")
        self.refuse(judge, {**good, "methods": [{"inner_steps": 3}]}, "a method without a name")

    def test_result(self):
        judge = validator("result")
        good = {"scenario": "0f", "method": "ddp", "platform": "star", "nodes": 8, "ranks": 8,
                "workload": "gpt2-124m", "seed": 1, "mode": "cost", "flow_model": "ideal",
                "status": "done", "wall_clock_s": 1.5, "final_loss": None}
        self.assertTrue(judge.is_valid(good))
        self.refuse(judge, {**good, "status": "fine"}, "status")
        self.refuse(judge, {**good, "wall_clock_s": -1}, "negative time")
        self.refuse(judge, {k: v for k, v in good.items() if k != "ranks"}, "no ranks")


if __name__ == "__main__":
    unittest.main()
