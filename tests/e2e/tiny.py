"""A run of a second: four ranks, sixteen files and a megabyte a checkpoint; and what its targets and folders hold."""
import json
import zlib

NAME = "tiny"
MODEL = {"name": "tiny", "layers": 4, "hidden_size": 64, "ffn_hidden_size": 128, "attention_heads": 4, "kv_heads": 2,
         "vocabulary_size": 512}


def write_config(folder, **checkpoint):
    """tiny.json in the folder, with these keys of `checkpoint`."""
    path = folder / "tiny.json"
    path.write_text(json.dumps({"name": NAME, "model": MODEL, "parallelism": {"tensor": 2, "pipeline": 2},
                                "checkpoint": {"passes": 3, "checkpoints_per_pass": 2, **checkpoint}}))
    return path


def sequence(passes=3, checkpoints_per_pass=2, warmup_passes=0):
    """(pass, warmup, checkpoint) of a run, in order."""
    numbers = [(n, True) for n in range(1, warmup_passes + 1)] + [(n, False) for n in range(1, passes + 1)]
    return [(n, warmup, c) for n, warmup in numbers for c in range(1, checkpoints_per_pass + 1)]


def place(entry):
    return entry["pass"], entry["warmup"], entry["checkpoint"]


def journal_lines(result_folder):
    """The whole lines, and whether a torn one follows."""
    text = (result_folder / "journal.jsonl").read_bytes()
    whole = text[:text.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines()], whole != text


def journaled(result_folder):
    return [place(line) for line in journal_lines(result_folder)[0] if line["type"] == "checkpoint"]


def checkpoint_folder(target, number):
    return target / "ckptsim" / NAME / f"checkpoint_{number:02d}"


def manifest(folder):
    """The manifest of a checkpoint's folder, None where there is none. Fails where it, or a file of it, is not whole."""
    path = folder / "manifest.json"
    if not path.exists():
        return None
    text = path.read_bytes()
    assert f"{zlib.crc32(text[:-12]):08x}".encode() == text[-12:-4], f"{path} is damaged"
    found = json.loads(text)
    for file in found["files"]:
        data = (folder / file["name"]).read_bytes()
        assert len(data) == file["file_bytes"], f"{folder / file['name']} has {len(data)} bytes"
        assert f"{zlib.crc32(data):08x}" == file["crc32"], f"{folder / file['name']} is not what its manifest says"
    return found


def present_after(finished, order, per_pass, between_passes):
    """Which checkpoint each folder must hold once those of `finished` are journaled and the next may have been begun:
    folder's number -> (pass, warmup, checkpoint). Folders of which nothing can be said are left out."""
    held = {}
    for done in order[:finished]:
        held[done[2]] = done
    if finished == len(order):
        return held
    in_pass = finished % per_pass
    if between_passes == "delete":
        return {n: done for n, done in held.items() if n <= in_pass}
    held.pop(order[finished][2], None)  # its manifest may be gone already
    return held
