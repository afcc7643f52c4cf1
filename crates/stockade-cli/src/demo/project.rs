//! The throw-away project of the demo: a few files, and the traps that an attacker would lay.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use stockade::call::CallId;

/// A folder with a project and a journal in it, removed when it is dropped.
pub(crate) struct Project {
    folder: PathBuf,
}

impl Project {
    /// Makes the files and the traps.
    pub(crate) fn make() -> std::io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("stockade-demo-{}", CallId::new()));
        fs::create_dir(&folder)?;
        let project = Self { folder };
        fs::set_permissions(&project.folder, fs::Permissions::from_mode(0o700))?;
        let root = project.root();
        fs::create_dir_all(root.join("src"))?;
        fs::create_dir_all(root.join("bin"))?;
        fs::create_dir_all(project.sibling())?;
        fs::write(root.join("hello.txt"), "hello\n")?;
        fs::write(root.join("src/main.py"), "print('hello from a script')\n")?;
        fs::write(project.sibling().join("secret.txt"), "secret\n")?;
        script(&root.join("bin/hello"), "#!/bin/sh\necho hello from a program of the project\n")?;
        script(&root.join("bin/daemon"), "#!/bin/sh\nsetsid sleep 600 &\necho started\n")?;
        symlink("/etc/passwd", root.join("innocent.txt"))?;
        if let Some(rm) = system_program("rm") {
            symlink(&rm, root.join("bin/tidy"))?;
            fs::copy(&rm, root.join("bin/clean"))?;
        }
        Ok(project)
    }

    /// The project root.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// A folder whose name only begins like the root's.
    pub(crate) fn sibling(&self) -> PathBuf {
        self.folder.join("work-evil")
    }

    /// The journal of the demo.
    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.join("journal.jsonl")
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            crate::print::error(&format!("could not remove {}: {error}", self.folder.display()));
        }
    }
}

fn script(path: &Path, text: &str) -> std::io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn system_program(name: &str) -> Option<PathBuf> {
    ["/usr/bin", "/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.exists())
}
