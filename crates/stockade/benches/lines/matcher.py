"""What judging a line costs in the matcher that the project began with: three lists of patterns,
each held against the whole text. Reads a JSON list of lines, prints a JSON list of medians in µs."""
import fnmatch
import json
import statistics
import sys
import time

RULES = {
    "deny": ["Bash(rm -rf *)", "Bash(sudo *)", "Bash(shutdown*)", "Read(//.env)", "Read(//etc/passwd)"],
    "ask": ["Bash", "write_file", "edit_file"],
    "allow": ["read_file", "permission_check", "permission_list"],
}


def matches(pattern, tool, args):
    if "(" not in pattern:
        return pattern.lower() == tool.lower()
    name, inner = pattern[:-1].split("(", 1)
    return name.lower() == tool.lower() and fnmatch.fnmatch(args.get("command", ""), inner)


def check(tool, args):
    for decision, patterns in RULES.items():
        for pattern in patterns:
            if matches(pattern, tool, args):
                return decision, pattern
    return "deny", None


def median(line, rounds=2000):
    times = []
    for _ in range(rounds):
        started = time.perf_counter_ns()
        check("bash", {"command": line})
        times.append(time.perf_counter_ns() - started)
    return statistics.median(times) / 1000


json.dump([median(line) for line in json.load(sys.stdin)], sys.stdout)
