"""Things that no run made, in a tree of random shape, and a record of them to hold against what is there later."""
import os
import socket
import stat

ODD_NAMES = ["notes.txt", "a name with blanks", "line\nfeed", "-rf", "*", "ümlaut", ".hidden", "model.pt", "manifest.json",
             "checkpoint_01", "checkpoint_1", "layer_000-model_00-model_states.pt", "manifest.json.tmp", ".lock.bak",
             "b\\ackslash", "zzz.pt.bak", "x" * 200]


def make_thing(random, place, elsewhere):
    """One foreign thing below `place`; links lead to `elsewhere`. Its path."""
    while True:
        path = place / random.choice(ODD_NAMES)
        if not os.path.lexists(path):
            break
    kind = random.choice(["file", "file", "folder", "link", "link to folder", "dangling", "fifo", "socket", "hard link"])
    if kind == "file":
        path.write_bytes(random.randbytes(random.randrange(5000)))
        path.chmod(random.choice([0o644, 0o400]))
    elif kind == "folder":
        path.mkdir()
        (path / "inside").write_text("years of work")
    elif kind == "link":
        path.symlink_to(elsewhere / "precious")
    elif kind == "link to folder":
        path.symlink_to(elsewhere)
    elif kind == "dangling":
        path.symlink_to(elsewhere / "nowhere")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        make_socket(path)
    else:
        os.link(elsewhere / "precious", path)
    return path


def make_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's path may be 107 bytes long
    try:
        if len(path.name) > 100:
            os.mkfifo(path)
            return
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def record(paths):
    """Of each path and all below it: kind, inode, mode, and what it holds. Times are left out: listing changes them."""
    found = {}
    for path in paths:
        for one in [path] + (sorted(path.rglob("*")) if path.is_dir() and not path.is_symlink() else []):
            facts = os.lstat(one)
            held = None
            if stat.S_ISREG(facts.st_mode):
                held = one.read_bytes()
            elif stat.S_ISLNK(facts.st_mode):
                held = os.readlink(one)
            found[str(one)] = (facts.st_ino, facts.st_mode, held)
    return found
