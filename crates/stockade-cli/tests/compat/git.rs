//! Git in the jail: what people do every day works, with worktrees and submodules that are there.

use crate::support::{as_everybody, has};

const SET_UP: &str = "
git config --global init.defaultBranch main
git config --global user.email a@example.org && git config --global user.name a
git config --global protocol.file.allow always
git init -q part && (cd part && echo part > part && git add . && git commit -qm part)
mv part ../home/part
git init -q . && echo one > file && git add file && git commit -qm one
git config user.email a@example.org && git config user.name a
git submodule --quiet add ../home/part sub && git commit -qm sub
git -C sub config user.email a@example.org && git -C sub config user.name a
git worktree add -q tree -b other
";

#[test]
fn commits_branches_worktrees_and_submodules() {
    if !has("git") {
        return;
    }
    let script = "
set -e
git status --porcelain
echo two >> file && git commit -qam two && git log --format=%s -n 1
git checkout -q -b topic && echo three > new && git add new && git commit -qm three
git checkout -q main && git merge -q --no-ff -m merged topic && git log --format=%s -n 1
git stash list; echo x >> file; git stash -q; git stash pop -q; git checkout -q file
git rebase -q HEAD~1 && git tag v1 && git describe --tags && git gc -q && git fsck --no-progress --no-dangling
git -C sub status --porcelain && echo more >> sub/part && git -C sub commit -qam more
git -C sub log --format=%s -n 1; git submodule status | cut -c1; git add sub; git commit -qm moved
git -C tree status --porcelain && echo t > tree/t && git -C tree add t && git -C tree commit -qm tree
git -C tree log --format=%s -n 1; git worktree list | wc -l; git grep -c two -- file
git init -q fresh && git -C fresh status -s | wc -l; git diff --stat HEAD~1 | tail -n 1 | cut -d, -f1
";
    as_everybody(|somebody| {
        somebody.control(SET_UP);
        let config = somebody.control("cat .git/config .git/modules/sub/config");
        somebody.write("work.sh", script);
        somebody.control("echo work.sh >> .git/info/exclude; echo tree >> .git/info/exclude");
        let told = somebody.boxed(&["--", "bash", "work.sh"]);
        let expected = "two\nmerged\nv1\nmore\n+\ntree\n2\nfile:1\n0\n 1 file changed\n".to_owned();
        assert_eq!(told, expected, "{:?}", somebody.who);
        assert_eq!(somebody.control("cat .git/config .git/modules/sub/config"), config);
        // Git outside finds what the box has done, and nothing of ours.
        assert_eq!(somebody.control("git log --format=%s -n 1 other"), "tree\n");
        assert_eq!(somebody.control("git status --porcelain"), "?? fresh/\n");
        assert_eq!(somebody.control("git fsck --no-progress --no-dangling && git -C sub fsck --no-progress --no-dangling"), "");
    });
}
