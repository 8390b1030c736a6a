"""make_seeds.py CKPTSIM FOLDER: files to begin a corpus with, in FOLDER/HARNESS: real ones of this program in both
dialects and of torch, and some that a reader must refuse. run.sh minimises them into tests/fuzz/corpus."""
import collections
import json
import pathlib
import pickle
import platform
import signal
import struct
import subprocess
import sys
import tempfile
import zipfile

import torch

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TINY = {"name": "seed", "layers": 1, "hidden_size": 2, "ffn_hidden_size": 2, "attention_heads": 1, "kv_heads": 1,
        "vocabulary_size": 2}


def run_the_program(program, folder):
    """Tiny runs in either dialect; the targets."""
    for dialect in ("1.13", "current"):
        for state, stage in (("adam8bit", 0), ("adam-mixed", 3)):
            config = {"name": "seed", "model": TINY, "training_state": state,
                      "parallelism": {"data": 2, "zero_stage": stage},
                      "checkpoint": {"passes": 1, "checkpoints_per_pass": 1},
                      "storage": {"backend": "buffered", "torch_dialect": dialect}}
            target = folder / f"{dialect}-{state}"
            target.mkdir()
            (target / "run.json").write_text(json.dumps(config))
            subprocess.run([program, "run", target / "run.json", "--target", target, "--output", target / "results",
                            "--no-progress"], check=True, stdout=subprocess.DEVNULL)
            yield target


def write_config(folder, **checkpoint):
    path = folder / "run.json"
    path.write_text(json.dumps({"name": "seed", "model": TINY, "storage": {"backend": "buffered"},
                                "checkpoint": {"passes": 1, "checkpoints_per_pass": 2, **checkpoint}}))
    return path


def results_of_runs(program, folder):
    """Folders with a journal and a result, by what became of the run."""
    def run(name, *more, prefix=(), code=0, stop_after=None, **checkpoint):
        place = folder / name
        place.mkdir(exist_ok=True)
        command = [*prefix, program, "run", write_config(place, **checkpoint), "--target", place, "--output",
                   place / "results", "--progress", "plain", *more]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            if stop_after is not None:
                while stop_after not in process.stderr.readline():
                    assert process.poll() is None
                process.send_signal(signal.SIGINT)
            process.stderr.read()
        assert process.returncode == code, (name, process.returncode)
        return next(place.glob("results/*"))

    delete = {"passes": 2, "checkpoints_per_pass": 1, "warmup_passes": 1, "between_passes": "delete"}
    yield "complete", run("complete", "--profile", **delete)
    yield "loads", run("loads", load="each")
    yield "interrupted", run("interrupted", stop_after=" done", code=130, pause_seconds=600)
    # Told to end in the pause before its second checkpoint.
    redone = {"passes": 2, "checkpoints_per_pass": 1, "load": "end", "pause_seconds": 1}
    run("resumed", stop_after=" done", code=130, **redone)
    yield "resumed", run("resumed", "--resume", next((folder / "resumed").glob("results/*")), **redone)
    second = folder / "failed" / "ckptsim" / "seed" / "checkpoint_02" / "mp_rank_00_model_states.pt"
    fails = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", second, "-e", "trace=pwrite64", "-e",
             "inject=pwrite64:error=EIO"]
    yield "failed", run("failed", prefix=fails, code=4)
    yield "null", run("null", "--set", "storage.backend=null")


def of_anywhere(text, program, folder):
    """Without what is this machine's."""
    for word, other in ((str(folder), "/mnt/nvme0"), (str(program), "ckptsim"), (f'"{platform.node()}"', '"node1"'),
                        (platform.release(), "6.1.0")):
        text = text.replace(word, other)
    return text.encode()


def archives_of_torch(folder):
    weight = torch.arange(24, dtype=torch.bfloat16).reshape(4, 6)
    contents = {
        "dict": {"a": torch.zeros(2, 3), "b": torch.ones(5, dtype=torch.uint8), "n": 7, "s": "text"},
        "ordered": collections.OrderedDict(x=torch.zeros(()), y=torch.zeros(0, 3), z=torch.zeros(1, dtype=torch.int64)),
        "nested": {"model": {"layer": {"weight": weight, "view": weight[1:3, ::2], "same": weight}}, 3: -1, "big": 2**62},
        "refused": {"list": [torch.zeros(1)], "none": None, "half": 0.5},
    }
    for name, content in contents.items():
        path = folder / f"torch-{name}.pt"
        torch.save(content, path)
        yield path


def zip64(archive):
    """The archive's directory with every size and offset in a zip64 field."""
    data = archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        records = opened.infolist()
        start = opened.start_dir
    directory = b""
    for record in records:
        name = record.filename.encode()
        extra = struct.pack("<HHQQQ", 1, 24, record.file_size, record.file_size, record.header_offset)
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 0, 45, 0x808, 0, 0, 0, record.CRC, 2**32 - 1, 2**32 - 1,
                                 len(name), len(extra), 0, 0, 0, 0, 2**32 - 1) + name + extra
    end = start + len(directory)
    tail = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, len(records), len(records), len(directory), start)
    tail += struct.pack("<IIQI", 0x07064b50, 0, end, 1)
    tail += struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff, 2**32 - 1, 2**32 - 1, 0)
    return data[:start] + directory + tail


def configurations():
    for path in sorted((SOURCE / "configs" / "runs").glob("*.json")):
        yield path.stem, path.read_bytes()
    whole = json.dumps({"name": "x", "model": TINY}).encode()
    yield "overrides", b"\0".join([whole, b"storage.queue_depth=8", b"checkpoint.checkpoints_per_pass=auto",
                                   b"model.layers=3", b'storage.targets=["/a", "/b"]', b"scale=0.5"])
    yield "model_override", b"\0".join([whole, b"model=llama3.1-8b", b"model={}"])
    for number, text in enumerate((b"[" * 60, b'{"scale": 1e999}', b'{"scale": -0}', b'{"scale": NaN}', b"\xef\xbb\xbf{}",
                                   b'{"content": {"seed": 9223372036854775808}}', b'{"name": "a", "name": "b"}',
                                   b'{"name": "\xff\xfe"}', b'{"name": "\\u0000\\ud800"}', b'{"\\u001b[31m": 1}',
                                   b'{"name": {"a": [1, [2, {"b": null}]]}}', b"1" * 400)):
        yield f"refused{number}", text


def main(program, folder):
    folder = pathlib.Path(folder)

    def keep(harness, name, content):
        (folder / harness).mkdir(parents=True, exist_ok=True)
        (folder / harness / name).write_bytes(content)

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        targets = list(run_the_program(program, scratch))
        archives = [path for target in targets for path in sorted(target.glob("ckptsim/*/checkpoint_01/*.pt"))]
        archives += archives_of_torch(scratch)
        for target in targets:
            for path in target.glob("ckptsim/*/checkpoint_01/manifest.json"):
                keep("manifest", target.name, path.read_bytes())
        for number, path in enumerate(archives):
            name = f"{number:02}-{path.name}"
            for harness in ("zip", "archive"):
                keep(harness, name, path.read_bytes())
                keep(harness, f"{name}-zip64", zip64(path))
            with zipfile.ZipFile(path) as opened:
                record = next(item for item in opened.namelist() if item.endswith("/data.pkl"))
                keep("pickle", f"{name}-data.pkl", opened.read(record))
        for name, result in results_of_runs(program, scratch):
            lines = of_anywhere((result / "journal.jsonl").read_text(), program, scratch)
            keep("journal", name, lines)
            keep("journal", f"{name}-torn", lines[:-20])
            # Without the blanks, which libFuzzer would spend its time on.
            text = json.dumps(json.loads((result / "result.json").read_text()), separators=(",", ":"))
            keep("result", name, of_anywhere(text, program, scratch))
    keep("pickle", "plain", pickle.dumps({"a": 1, "b": {"c": "text", "d": True}, 5: -(2**40)}, protocol=2))
    for name, content in configurations():
        keep("run_config", name, content)
    for path in sorted((SOURCE / "configs" / "models").glob("*.json")):
        keep("model_file", path.name, path.read_bytes())
    keep("model_file", "tiny", json.dumps(TINY).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
