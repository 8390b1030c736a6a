"""Every file of a checkpoint loads with torch and holds what the design says, tensor by tensor."""
import json
import math
import unittest
import zipfile

import torch

from support import EndToEnd, checkpoint

# The design's parameter table, written down once more: (name, whole shape, axis that tensor parallelism cuts).
H, F, A, K, V, LAYERS = 16384, 53248, 128, 8, 128256, 126
D = H // A
LAYER = [
    ("input_layernorm.weight", (H,), None),
    ("self_attention.linear_qkv.weight", ((A + 2 * K) * D, H), 0),
    ("self_attention.linear_proj.weight", (H, A * D), 1),
    ("pre_mlp_layernorm.weight", (H,), None),
    ("mlp.linear_fc1.weight", (2 * F, H), 0),
    ("mlp.linear_fc2.weight", (H, F), 1),
]


def shard(shape, cut, tensor, scale):
    shape = [n // tensor if axis == cut else n for axis, n in enumerate(shape)]
    factor = scale if len(shape) == 1 else math.sqrt(scale)
    return tuple(max(1, math.floor(n * factor + 0.5)) for n in shape)


def parameters_of(stage, scale):
    """name -> shape on a rank of TP4 x PP2, by the file that holds its weights."""
    files = {}
    for layer in range(stage * 63, stage * 63 + 63):
        files[f"layer_{layer:03d}"] = {f"decoder.layers.{layer}.{name}": shard(shape, cut, 4, scale)
                                       for name, shape, cut in LAYER}
    head = ({"embedding.word_embeddings.weight": shard((V, H), 0, 4, scale)} if stage == 0 else
            {"decoder.final_layernorm.weight": shard((H,), None, 4, scale),
             "output_layer.weight": shard((V, H), 0, 4, scale)})
    return files, head


class TorchLoads(EndToEnd):
    SCALE = 0.00001

    def expected(self):
        """file -> {tensor: (dtype, shape)}"""
        files = {}
        for stage in range(2):
            layers, head = parameters_of(stage, self.SCALE)
            for tp in range(4):
                mp = stage * 4 + tp
                for layer, shapes in layers.items():
                    files[f"{layer}-model_{tp:02d}-model_states.pt"] = {
                        name: (torch.bfloat16, shape) for name, shape in shapes.items()}
                files[f"mp_rank_{mp:02d}_model_states.pt"] = {
                    name: (torch.bfloat16, shape) for name, shape in head.items()}
                optimizer = {"qmap1": (torch.float32, (256,)), "qmap2": (torch.float32, (256,))}
                for shapes in list(layers.values()) + [head]:
                    for name, shape in shapes.items():
                        blocks = (-(-math.prod(shape) // 256),)
                        for moment in "12":
                            optimizer[f"{name}.state{moment}"] = (torch.uint8, shape)
                            optimizer[f"{name}.absmax{moment}"] = (torch.float32, blocks)
                files[f"zero_pp_rank_0_mp_rank_{mp:02d}_optim_states.pt"] = optimizer
        return files

    def check_dialect(self, dialect, alignment):
        target = self.target()
        self.run_ok("llama3.1-405b-tp4pp2", "--scale", str(self.SCALE), "--passes", "1", "--checkpoints-per-pass", "1",
                    "--target", target, "--set", f"storage.torch_dialect={dialect}", "--set",
                    f"storage.alignment_bytes={alignment}", processes=8)
        folder = checkpoint(target)
        expected = self.expected()
        self.assertEqual(len(expected), 520)
        self.assertEqual({path.name for path in folder.glob("*.pt")}, set(expected))
        copies = self.folder / "copies"
        copies.mkdir()
        for path in sorted(folder.glob("*.pt")):
            state = torch.load(path)
            strict = torch.load(path, weights_only=True)
            tensors = {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
            self.assertEqual({name: (value.dtype, tuple(value.shape)) for name, value in tensors.items()},
                             expected[path.name], path.name)
            self.assertEqual(list(strict), list(state))
            self.assertGreater(len(state), 1, "no dict has exactly one entry")
            rest = {name: value for name, value in state.items() if name not in tensors}
            self.assertTrue(all(isinstance(value, (int, str)) for value in rest.values()), rest)
            if path.name.startswith("mp_rank"):
                self.assertIn("iteration", rest)
            with zipfile.ZipFile(path) as archive:
                self.assertIsNone(archive.testzip(), path.name)
            if dialect == "1.13":
                torch.save(state, copies / path.name)
                self.assertEqual((copies / path.name).read_bytes(), path.read_bytes(), path.name)
        return folder

    def test_dialect_1_13_comes_back_byte_for_byte_from_torch_itself(self):
        self.check_dialect("1.13", 64)

    def test_current_dialect_loads_and_aligns_payloads_to_4096_when_asked(self):
        folder = self.check_dialect("current", 4096)
        for path in folder.glob("layer_000*.pt"):
            report = json.loads(self.ckptsim("inspect", path, "--json").stdout)
            for record in report["records"]:
                self.assertEqual(record["payload_offset"] % 4096, 0, record)
                self.assertTrue(record["crc32_right"])


if __name__ == "__main__":
    unittest.main()
