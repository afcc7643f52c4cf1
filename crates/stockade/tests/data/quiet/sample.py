#!/usr/bin/env python3
"""Draws the lines of lines.jsonl from public collections, the same ones every time.

    sample.py --lock Cargo.lock --crates DIR --pyenv DIR --npm DIR --docs DIR > lines.jsonl

--crates  the sources of published crates, as cargo unpacks them: one folder NAME-VERSION each
--pyenv   a git clone of github.com/pyenv/pyenv that holds the commit below
--npm     the published package npm in the version below, with the packages bundled in it
--docs    the HTML documentation that comes with the Rust version below

Nothing is chosen by hand. A line is in its population or not by the rules in this file; from each
population the QUOTA lines with the smallest SHA-256 of seed and text are drawn, and all of them kept.
Needs PyYAML.
"""

import argparse
import hashlib
import html
import json
import pathlib
import re
import subprocess
import sys
import tomllib

import yaml

SEED = "stockade quiet corpus 4"
QUOTA = {
    "workflow steps": 110, "shell scripts": 120, "test bodies": 50, "package scripts": 80, "documentation": 40,
}
PYENV = "f6a5b409e9fd1ad78aa4350ddc1fc5fc3d0fa666"
NPM = "11.19.1"
RUST = "1.95.0"
# Cargo.lock of this repository at commit da8c757; the crates of a later one give another sample.
LOCK_SHA256 = "afe7a6d0abd4864fc94d13a225de25cd702d1f73ac83caf661abafcb4cd88fa9"
PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "CC0-1.0", "ISC", "MIT",
}
# Locked for Windows alone: cargo does not unpack them elsewhere.
WINDOWS = ("anstyle-wincon", "once_cell_polyfill")
NOT_BASH = ("pwsh", "powershell", "cmd", "python")
BOOKS = ("book", "cargo", "clippy", "edition-guide", "rust-by-example", "rustc", "rustdoc")


def workflow_steps(text, where):
    """The `run` steps of a GitHub workflow that a bash runs, as the shell gets them."""
    for job in (yaml.safe_load(text).get("jobs") or {}).values():
        for step in job.get("steps") or []:
            shell = str(step.get("shell", ""))
            windows = "windows" in str(job.get("runs-on", "")) and not shell
            if isinstance(step.get("run"), str) and not windows and not shell.startswith(NOT_BASH):
                # GitHub puts a value there before any shell sees the line.
                yield re.sub(r"\$\{\{.*?\}\}", "value", step["run"], flags=re.S), where


def crates(lock, folder):
    """Workflows in the crates that Stockade itself is built from, by name and version."""
    for package in tomllib.loads(lock)["package"]:
        if "source" not in package or package["name"] in WINDOWS:
            continue
        name = f"{package['name']}-{package['version']}"
        # A crate that is not there would silently change what is drawn.
        assert (folder / name).is_dir(), f"{name} is missing"
        for path in sorted((folder / name / ".github/workflows").glob("*.y*ml")):
            where = f"{package['name']} {package['version']}: .github/workflows/{path.name}"
            yield from workflow_steps(path.read_text(), where)


def pyenv_file(folder, path):
    shown = subprocess.run(
        ["git", "-C", folder, "show", f"{PYENV}:{path}"], capture_output=True, check=True
    )
    return shown.stdout.decode()


def pyenv_paths(folder):
    listed = subprocess.run(
        ["git", "-C", folder, "ls-tree", "-r", "--name-only", PYENV], capture_output=True, check=True
    )
    return listed.stdout.decode().split("\n")


def pyenv_workflows(folder):
    for path in pyenv_paths(folder):
        if re.fullmatch(r"\.github/workflows/[^/]*\.yml", path):
            where = f"pyenv/pyenv@{PYENV[:7]}: {path}"
            yield from workflow_steps(pyenv_file(folder, path), where)


def is_whole(script):
    """Whether a bash can read it on its own."""
    return subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True).returncode == 0


def paragraphs(folder):
    """What stands between empty lines in bash scripts, where it is whole on its own."""
    for path in pyenv_paths(folder):
        # What is in src comes from another project under another licence.
        if not re.match(r"(libexec|pyenv\.d|plugins|\.github)/", path) or "share/" in path:
            continue
        if path.endswith((".yml", ".patch", ".md")):
            continue
        try:
            text = pyenv_file(folder, path)
        except (UnicodeDecodeError, subprocess.CalledProcessError):
            continue  # An image, or a link to a folder.
        if not re.match(r"#!.*\b(bash|sh)\b", text):
            continue
        for part in re.split(r"\n\s*\n", text):
            code = [line for line in part.split("\n") if line.strip() and line.strip()[0] != "#"]
            if code and is_whole(part):
                yield part, f"pyenv/pyenv@{PYENV[:7]}: {path}"


def test_bodies(folder):
    """The bodies of the tests written for bats: commands that are run and looked at."""
    for path in pyenv_paths(folder):
        if path.endswith(".bats"):
            text = pyenv_file(folder, path)
            for body in re.findall(r'^@test [^\n]*\{\n(.*?)^\}$', text, re.S | re.M):
                yield body, f"pyenv/pyenv@{PYENV[:7]}: {path}"


def package_scripts(folder):
    """The scripts of npm and of the packages bundled in it."""
    version = json.loads((folder / "package.json").read_text())["version"]
    assert version == NPM, f"npm is {version}"
    for path in sorted(folder.glob("**/package.json")):
        try:
            package = json.loads(path.read_text())
        except ValueError:
            continue  # A fixture that is no JSON.
        if package.get("license") not in PERMISSIVE:
            continue
        for name, script in sorted((package.get("scripts") or {}).items()):
            title = f"{package.get('name')} {package.get('version')}"
            yield script, f"{title} (in npm {NPM}): package.json, {name}"


def documentation(folder):
    """Commands after a `$` prompt in the console blocks of the books that come with Rust."""
    block = re.compile(r'<code class="language-(?:console|sh|bash)[^"]*">(.*?)</code>', re.S)
    for path in sorted(path for book in BOOKS for path in folder.glob(f"{book}/**/*.html")):
        if path.name == "print.html":
            continue
        for found in block.findall(path.read_text()):
            text = html.unescape(re.sub("<[^>]+>", "", found)).replace("\\\n", "\\\0")
            for line in text.split("\n"):
                if line.startswith("$ "):
                    where = f"Rust {RUST} documentation: {path.relative_to(folder)}"
                    yield line[2:].replace("\0", "\n"), where


def draw(population, quota):
    """The lines with the smallest hashes, each text once, by its first place."""
    first = {}
    for line, where in population:
        first.setdefault(line.strip("\n").rstrip(), where)
    first.pop("", None)
    order = sorted(first, key=lambda line: hashlib.sha256(f"{SEED}\n{line}".encode()).digest())
    assert len(order) >= quota, f"{len(order)} lines, {quota} wanted"
    return len(order), [{"line": line, "from": first[line]} for line in order[:quota]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("lock", "crates", "pyenv", "npm", "docs"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    given = parser.parse_args()
    lock = given.lock.read_bytes()
    digest = hashlib.sha256(lock).hexdigest()
    assert digest == LOCK_SHA256, f"another lock file: {digest}"
    populations = {
        "workflow steps": [*crates(lock.decode(), given.crates), *pyenv_workflows(given.pyenv)],
        "shell scripts": paragraphs(given.pyenv),
        "test bodies": test_bodies(given.pyenv),
        "package scripts": package_scripts(given.npm),
        "documentation": documentation(given.docs),
    }
    for kind, population in populations.items():
        size, drawn = draw(population, QUOTA[kind])
        print(f"{kind}: {len(drawn)} of {size}", file=sys.stderr)
        for entry in drawn:
            print(json.dumps({**entry, "kind": kind}, ensure_ascii=False))


if __name__ == "__main__":
    main()
