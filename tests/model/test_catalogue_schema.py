"""Catalogue files against their schema, by a validator that is not ours; and the schema against
mistakes that it must see."""

import copy
import json
import os
import pathlib
import unittest

import jsonschema

ROOT = pathlib.Path(os.environ.get("LONGHAUL_SOURCE", pathlib.Path(__file__).parents[2]))


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Catalogue(unittest.TestCase):
    def setUp(self):
        schema = read(ROOT / "platforms" / "schemas" / "model.schema.json")
        jsonschema.Draft202012Validator.check_schema(schema)
        self.judge = jsonschema.Draft202012Validator(schema)
        self.entries = {p.stem: read(p) for p in (ROOT / "models" / "catalogue").glob("*.json")}
        self.assertGreater(len(self.entries), 20)

    def test_entries(self):
        for name, entry in self.entries.items():
            with self.subTest(name):
                self.assertEqual([], [e.message for e in self.judge.iter_errors(entry)])

    def test_mistakes(self):
        for name, entry in self.entries.items():
            for key in entry:
                wrong = copy.deepcopy(entry)
                wrong[key] = {"wrong": 1}
                self.assertFalse(self.judge.is_valid(wrong), f"{name}: {key} may be anything")
            for key in ("schema", "title", "source", "parameters", "kind", "depth", "width", "heads"):
                wrong = copy.deepcopy(entry)
                del wrong[key]
                self.assertFalse(self.judge.is_valid(wrong), f"{name}: {key} may be missing")
            self.assertFalse(self.judge.is_valid({**entry, "extra": 1}), name)
            self.assertFalse(self.judge.is_valid({**entry, "depth": 0}), name)


if __name__ == "__main__":
    unittest.main()
