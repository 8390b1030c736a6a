"""Third-party headers stay behind their walls, and the layers depend on each other in one direction."""
import os
import pathlib
import re
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["CKPTSIM_SOURCE"])
FOLDERS = ("simulator", "models", "parallelism", "storage")

# header pattern -> the files that may include it
WALLS = {
    r"mpi\.h": ["simulator/communicator/mpi_communicator.cpp"],
    r"liburing\.h": ["storage/target/io_uring_target.cpp"],
    r"(torch|ATen|c10|caffe2)/.*": ["storage/libtorch/module.cpp"],
    r"dlfcn\.h": ["storage/libtorch/load_module.cpp"],
    r"isa-l.*|zlib\.h": ["storage/torch/crc32.cpp"],
    r"nlohmann/.*|valijson/.*": ["simulator/config/*", "simulator/report/*.cpp", "simulator/run/manifest.cpp",
                                 "simulator/run/strict_json.*",
                                 "simulator/cli/inspect_command.cpp"],
    r"CLI/.*": ["simulator/cli/*"],
}

# layer -> the layers it may include
LAYERS = {
    "models": {"models"},
    "parallelism": {"models", "parallelism"},
    "storage": {"storage"},
    "simulator": {"models", "parallelism", "storage", "simulator"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".in"):
                yield path.relative_to(root), path.read_text()


def breaches(root):
    found = []
    for path, text in sources(root):
        for header in INCLUDE.findall(text):
            for pattern, allowed in WALLS.items():
                if re.fullmatch(pattern, header) and not any(path.match(glob) for glob in allowed):
                    found.append(f"{path} includes {header}")
            layer = header.split("/")[0]
            if layer in LAYERS and layer not in LAYERS[path.parts[0]]:
                found.append(f"{path} includes {header}")
    return found


class Walls(unittest.TestCase):
    def test_hold(self):
        self.assertGreater(len(list(sources(SOURCE))), 50)
        self.assertEqual(breaches(SOURCE), [])

    def test_a_breach_of_each_would_be_found(self):
        for file, header in (("simulator/run/x.cpp", "mpi.h"), ("storage/target/x.h", "liburing.h"),
                             ("storage/torch/x.cpp", "torch/script.h"), ("storage/libtorch/x.cpp", "ATen/ATen.h"), ("storage/torch/x.cpp", "isa-l/crc.h"),
                             ("models/x.cpp", "nlohmann/json.hpp"), ("simulator/engine/x.cpp", "CLI/CLI.hpp"),
                             ("storage/drive/x.cpp", "models/dtype.h"), ("models/x.h", "parallelism/topology.h"),
                             ("parallelism/x.h", "simulator/plan/plan.h")):
            with tempfile.TemporaryDirectory() as root:
                path = pathlib.Path(root) / file
                path.parent.mkdir(parents=True)
                path.write_text(f"#include <{header}>\n")
                self.assertEqual(breaches(pathlib.Path(root)), [f"{file} includes {header}"])


if __name__ == "__main__":
    unittest.main()
