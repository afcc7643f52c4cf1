//! Where the battery is run: a project, files beside it, and a service that can be reached.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use stockade::call::CallId;

use super::case::{CANARY, Case};

/// What stands in the file that nobody may write.
const UNTOUCHED: &str = "untouched\n";

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Fixture {
    folder: PathBuf,
    service: TcpListener,
}

impl Fixture {
    pub(super) fn make() -> std::io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("stockade-battery-{}", CallId::new()));
        fs::create_dir(&folder)?;
        let service = TcpListener::bind(("127.0.0.1", 0))?;
        service.set_nonblocking(true)?;
        let fixture = Self { folder, service };
        // All is open to everybody, so that it is the tier that keeps it and not an owner.
        fs::set_permissions(&fixture.folder, fs::Permissions::from_mode(0o755))?;
        for (name, mode) in [("work", 0o777), ("tmp", 0o700)] {
            fs::create_dir(fixture.path(name))?;
            fs::set_permissions(fixture.path(name), fs::Permissions::from_mode(mode))?;
        }
        for (name, text) in
            [("canary", CANARY), ("outside", UNTOUCHED), ("work/greeting", "hello\n")]
        {
            fs::write(fixture.path(name), text)?;
            fs::set_permissions(fixture.path(name), fs::Permissions::from_mode(0o666))?;
        }
        Ok(fixture)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.path("work")
    }

    /// Writes the script of a case, and takes away what the one before has left.
    pub(super) fn lay_out(&self, case: &Case) -> std::io::Result<()> {
        for left in ["work/beat", "work/supervisor"] {
            match fs::remove_file(self.path(left)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let port = self.service.local_addr()?.port();
        let named = |path: &Path| path.display().to_string();
        let script = case.script.replace("CANARY", &named(&self.path("canary")));
        let script = script.replace("OUTSIDE", &named(&self.path("outside")));
        fs::write(self.path("work/case.sh"), script.replace("PORT", &port.to_string()))
    }

    /// Whether the service was reached since it was asked last.
    pub(super) fn was_reached(&self) -> bool {
        self.service.accept().is_ok()
    }

    pub(super) fn was_written(&self) -> bool {
        !fs::read_to_string(self.path("outside")).is_ok_and(|text| text == UNTOUCHED)
    }

    /// How far the program that counts has come.
    pub(super) fn beat(&self) -> Option<String> {
        fs::read_to_string(self.path("work/beat")).ok().filter(|text| !text.is_empty())
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            let folder = self.folder.display();
            crate::print::error(&format!("could not remove {folder}: {error}"));
        }
    }
}
