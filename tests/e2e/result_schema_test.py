"""result.json keeps to the published schema, whatever the run was like, and the schema explains every field."""
import json
import pathlib
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed: the results are not checked against their schema", file=sys.stderr)
    sys.exit("python3-jsonschema is missing")

from support import EndToEnd, SMALL

SCHEMA_FILE = pathlib.Path(__file__).resolve().parents[2] / "configs" / "schema" / "result.schema.json"
SCHEMA = json.loads(SCHEMA_FILE.read_text())

# A data file above a megabyte ends the run with EFBIG; the signal that would kill the program is ignored.
SMALL_FILES_ONLY = ["bash", "-c", "trap '' XFSZ; ulimit -f 1000; exec \"$@\"", "bash"]


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


def subschemas(node, path="#"):
    """Every object of the schema that has properties, with where it stands."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict) and "type" in node:
            yield path, node
        for key, value in node.items():
            yield from subschemas(value, f"{path}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from subschemas(value, f"{path}/{index}")


def without(document, *path):
    """The document less the member at the path."""
    copy = json.loads(json.dumps(document))
    node = copy
    for step in path[:-1]:
        node = node[step]
    del node[path[-1]]
    return copy


class ResultSchema(EndToEnd):
    def validated(self):
        """The newest result, after holding it against the schema."""
        result, folder = self.result()
        json.loads((folder / "result.json").read_text(), parse_constant=refuse_constant)
        self.assertEqual(self.errors(result), [])
        return result

    @staticmethod
    def errors(result):
        found = jsonschema.Draft7Validator(SCHEMA).iter_errors(result)
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in found]

    def test_a_run_on_a_target(self):
        self.run_ok(*SMALL, "--passes", "2", "--checkpoints-per-pass", "2", "--target", self.target(), "--set",
                    "checkpoint.warmup_passes=1", "--set", "checkpoint.between_passes=delete")
        result = self.validated()
        self.assertEqual([one["warmup"] for one in result["passes"]], [True, False, False])
        self.assertIsInstance(result["passes"][0]["save_stdev_s"], float)
        for environment in result["environment"]["targets"]:
            self.assertGreaterEqual(environment["io_alignment"], 4096)

    def test_a_run_through_the_page_cache_without_fsync(self):
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target", self.target(), "--backend",
                    "buffered", "--set", "checkpoint.fsync=off")
        result = self.validated()
        self.assertIsNone(result["passes"][0]["save_stdev_s"])
        self.assertEqual(result["environment"]["targets"][0]["io_alignment"], 0)
        self.assertEqual((result["flags"]["fsync"], result["flags"]["direct_io"]), (False, False))

    def test_the_software_alone_under_mpirun(self):
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "2", "--backend", "null", processes=2)
        result = self.validated()
        self.assertEqual(result["environment"]["processes"], 2)
        self.assertEqual(result["environment"]["targets"], [])

    def test_loads_of_the_last_pass_replicas_without_files_among_the_ranks(self):
        self.run_ok("llama3.1-8b-tp1pp1", "--scale", "0.00001", "--set", "parallelism.data=2", "--passes", "2",
                    "--checkpoints-per-pass", "2", "--load", "end", "--target", self.target())
        first, last = self.validated()["passes"]
        self.assertEqual([one["load"] for one in first["checkpoints"]], [None, None])
        ranks = last["checkpoints"][0]["load"]["ranks"]
        self.assertEqual((ranks[1]["file_bytes"], ranks[1]["blocks"], ranks[1]["read_bytes"]), (0, 0, 0))
        self.assertGreater(ranks[0]["blocks"], 0)

    def test_replicas_that_write_nothing(self):
        self.run_ok("llama3.1-8b-tp1pp1", "--scale", "0.00001", "--set", "parallelism.data=2", "--passes", "1",
                    "--checkpoints-per-pass", "1", "--target", self.target())
        ranks = self.validated()["passes"][0]["checkpoints"][0]["save"]["ranks"]
        self.assertEqual((ranks[1]["file_bytes"], ranks[1]["blocks"], ranks[1]["sync_calls"]), (0, 0, 0))

    def test_a_failed_run(self):
        outcome = self.ckptsim("run", *SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target",
                               self.target(), "--output", self.folder / "results", prefix=SMALL_FILES_ONLY)
        self.assertEqual(outcome.code, 4, outcome.stderr)
        result = self.validated()
        self.assertEqual(result["status"], "failed")
        [folder] = (self.folder / "results").iterdir()
        self.assertEqual(outcome.messages(), [
            f"ckptsim: {result['failure']}; what was finished is kept in {folder}; go on with the same command and "
            f"--resume {folder}"])
        self.assertEqual(result["passes"], [])

    def test_what_is_missing_unknown_or_of_another_type_is_found(self):
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--backend", "null")
        good = self.validated()
        rank = ("passes", 0, "checkpoints", 0, "save", "ranks", 0)
        for path in (("flags",), ("plan", "files"), (*rank, "idle_ns"), (*rank, "phases", "close_ns")):
            self.assertNotEqual(self.errors(without(good, *path)), [], path)
        for key, value in (("surprise", 1), ("failure", "none"), ("status", "done"), ("passes", None)):
            self.assertNotEqual(self.errors({**good, key: value}), [], key)
        good["passes"][0]["checkpoints"][0]["save"]["ranks"][0]["blocks"] = 1.5
        self.assertNotEqual(self.errors(good), [])


class Schema(unittest.TestCase):
    def test_is_a_draft_7_schema(self):
        jsonschema.Draft7Validator.check_schema(SCHEMA)

    def test_every_field_is_described(self):
        for path, node in subschemas(SCHEMA):
            for key, field in node["properties"].items():
                self.assertTrue(field.get("description", "").endswith((".", ")")), f"{path}/properties/{key}")

    def test_is_strict(self):
        for path, node in subschemas(SCHEMA):
            self.assertIs(node.get("additionalProperties"), False, path)
            optional = set(node["properties"]) - set(node["required"])
            self.assertEqual(optional, {"failure"} if path == "#" else set(), path)

    def test_units_have_one_type(self):
        for path, node in subschemas(SCHEMA):
            for key, field in node["properties"].items():
                kind = field.get("$ref", "").rsplit("/", 1)[-1]
                if key.endswith("_ns"):
                    self.assertIn(kind, ("nanoseconds", "nanoseconds_or_unknown"), f"{path}/{key}")
                    self.assertIn("nanoseconds", field["description"] + SCHEMA["description"])
                elif key.endswith("bytes"):
                    self.assertEqual(kind, "bytes", f"{path}/{key}")
        for unit in ("bytes", "count", "nanoseconds", "index"):
            self.assertEqual(SCHEMA["definitions"][unit]["type"], "integer")


if __name__ == "__main__":
    unittest.main()
