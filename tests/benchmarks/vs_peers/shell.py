"""Other programs, and the folder that they write to. Nothing of either is left, whatever happens."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def interrupted(number, _frame):
    raise SystemExit(128 + number)  # on the way out all that was started ends and all that was written goes


def end_on_signals():
    for number in ENDING:
        signal.signal(number, interrupted)


def ignore_signals():
    """On the way out: a second Ctrl-C would leave processes and gigabytes."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


class PeerError(Exception):
    """One sentence for the user: what could not be measured, and why."""


def receive_signals():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def start(command, environment):
    """Starts a program and leaves the signals blocked: one that came before the child is known would leave it running."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, **(environment or {})}, start_new_session=True,
                                preexec_fn=receive_signals)
    except OSError as error:
        receive_signals()
        raise PeerError(f"{command[0]} cannot be started: {error.strerror}") from error


def run(command, environment=None):
    """Runs a program to its end in a session of its own and gives back its stdout."""
    child = start(command, environment)
    try:
        receive_signals()
        output, errors = child.communicate()
    except BaseException:
        stop(child)
        raise
    if child.returncode != 0:
        raise PeerError(f"{command[0]} ended with status {child.returncode}: {' '.join(map(str, command))}\n"
                        f"{errors or output}")
    return output


def session(number):
    """The processes of a session that still run. mpirun gives each rank a process group of its own; the session stays."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of_process = file.read_text().rpartition(") ")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended while we looked
        if int(of_process) == number and state not in "ZX":
            found.append(int(file.parent.name))
    return found


def stop(child):
    """mpirun ends its ranks when it is told to, unless it was just starting them; what has not gone by then is killed."""
    ignore_signals()
    child.send_signal(signal.SIGTERM)
    try:
        child.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        pass
    while remaining := session(child.pid):  # one killed while it starts another leaves that one
        for process in remaining:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    child.wait()


def mpirun(ranks):
    return ["mpirun", "-np", ranks, "--oversubscribe", "--bind-to", "none"]


@contextlib.contextmanager
def scratch(directory, source):
    """A new folder below `directory`, or in the checkout, that goes again."""
    parent = pathlib.Path(directory) if directory else pathlib.Path(source)
    if not parent.is_dir():
        raise PeerError(f"{parent} is no folder; name one on the drive to measure")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vs-peers-target.", dir=parent)).resolve()
    try:
        yield folder
    finally:
        ignore_signals()
        shutil.rmtree(folder)


@contextlib.contextmanager
def empty_folder(parent, name):
    """A folder for one run. When its files have gone, the file system's own work for that is waited for, so that the next
    run does not pay for it."""
    folder = parent / name
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        run(["sync", "-f", parent])


def need_space(folder, needed):
    available = shutil.disk_usage(folder).free
    if available < needed:
        raise PeerError(f"{folder} has {available / 1e9:.1f} GB free and {needed / 1e9:.1f} GB are needed; "
                        "name a folder on another drive, or a smaller --scale")
