#!/usr/bin/env python3
"""No data leaves by command line: refuses piping into, and posting with, programs that send.

A hook in the protocol of coding agents: the call as JSON on standard input, a decision as JSON on
standard output. It does not search the text of a line. It asks `stockade check shell --json` which
commands are in it, wherever they stand: behind pipes, wrappers, substitutions, in strings for bash.
Whatever goes wrong here is a refusal.

It needs python3 and `stockade`, which is looked for in PATH unless the variable STOCKADE names it.
"""

import json
import os
import shutil
import subprocess
import sys

# Programs that are for sending: any use of them.
SENDERS = {"nc", "ncat", "netcat", "socat", "telnet", "ftp", "tftp", "lftp", "sendmail", "mail"}
# Programs that fetch, and send if they are told to.
CURL, WGET, OTHERS = {"curl"}, {"wget", "wget2"}, {"http", "https", "xh", "xhs", "aria2c"}
# The options that send a body, or take options from a file that is not looked at. Both programs
# take long ones by their beginnings.
CURL_LONG = ("--data", "--form", "--json", "--upload-file", "--config", "--variable", "--mail-from")
CURL_SHORT, CURL_SHORT_WITH_VALUE = "dFTK", "AbcCDeEHmoPQrtuUwxXyYz"
WGET_LONG = ("--post-data", "--post-file", "--body-data", "--body-file", "--execute", "--config",
             "--input-metalink")
WGET_SHORT, WGET_SHORT_WITH_VALUE = "e", "aoBDGIOPQRTUXAlitw"


def main():
    event = json.load(sys.stdin)
    line = event["tool_input"]["command"]
    for command in commands_in(line):
        why = objection(command)
        if why:
            say_no(why)
            return


def commands_in(line):
    """Every command in the line, as Stockade finds them."""
    stockade = os.environ.get("STOCKADE") or shutil.which("stockade")
    if not stockade:
        raise LookupError("there is no `stockade` in PATH; name it in the hook's env: STOCKADE=/…")
    asked = subprocess.run([stockade, "check", "shell", "--json", "--", line],
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
    # Allowed, asked about, refused: in each case the commands are listed.
    if asked.returncode not in (0, 3, 126):
        raise LookupError(asked.stderr.decode(errors="replace").strip())
    return json.loads(asked.stdout)["commands"]


def objection(command):
    """Why this command may send data, or None."""
    words = command["words"]
    if not words:
        return None
    names = {os.path.basename(name) for name in [words[0], *command["names"]]}
    if command["argv"] is None and any(mark in words[0] for mark in "$`*?["):
        return f"which program {words[0]!r} is cannot be told before the run"
    sends = names & SENDERS
    if sends:
        return f"{sends.pop()} sends data to other machines"
    for programs, long, short, valued in (
        (CURL, CURL_LONG, CURL_SHORT, CURL_SHORT_WITH_VALUE),
        (WGET, WGET_LONG, WGET_SHORT, WGET_SHORT_WITH_VALUE),
        (OTHERS, (), "", ""),
    ):
        if not names & programs:
            continue
        name = (names & programs).pop()
        if command["fed"]:
            return f"{name} is given data on standard input"
        if command["dynamic"]:
            return f"some words of {name} cannot be told before the run"
        for word in words[1:]:
            if posts(word, long, short, valued):
                return f"{name} {word.split('=')[0]} sends data"
    return None


def posts(word, long, short, valued):
    """Whether this word is an option that sends a body, also in a cluster or cut short."""
    if word.startswith("--"):
        name = word.split("=")[0]
        return len(name) > 3 and any(one.startswith(name) or name.startswith(one) for one in long)
    if word.startswith("-"):
        for letter in word[1:]:
            if letter in short:
                return True
            if letter in valued:
                return False
    return False


def say_no(why):
    json.dump({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": why + "; data stays here. Fetching alone is fine.",
    }}, sys.stdout)


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # Nothing may pass because this script is wrong.
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
