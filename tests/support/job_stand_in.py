"""A stand-in for `whence explore`: it takes the arguments of a job, and does what the name of the model says."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from small_session import named_session

from whence.explorer.session.file import write


def main(words: list[str]) -> int:
    """Do the work of a job."""
    model, path = words[0], Path(next(word for word in words if word.startswith("--job=")).removeprefix("--job="))
    print(json.dumps({"what": "passes", "done": 1, "of": 2}), flush=True)
    match Path(model).stem:
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            print(json.dumps({"what": "stubborn", "done": 0, "of": 0}), flush=True)
            time.sleep(60)
        case "torn":
            print('{"what": "pas', end="", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        case "noisy":
            os.write(1, b'\xff\nnoise\n[1]\n{"what": 1}\n{"what": "on", "done": 1, "of": 2, "job": 9}\n')
            write(path, named_session(model))
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "failing":
            write(path, named_session("so far"))
            failure = {"message": "relu: expected a, got b (layer 'r')", "op": "relu", "layer": "r", "pass": "relay-x"}
            print(json.dumps({"failure": {**failure, "command": "whence-opt m -p relay-x"}}), flush=True)
            return 1
        case "damaged":
            path.write_text("{}")
        case _:
            session = named_session(model)
            session.comparison = None
            write(path, session)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
