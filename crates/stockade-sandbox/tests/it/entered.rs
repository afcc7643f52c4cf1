//! A program starts in the folder that was judged, or not at all.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use stockade_sandbox::{
    Errno, Folder, Mount, Origin, PoolSize, Program, Running, SandboxPool, StartError, Step,
    landlock_abi, start_jailed,
};
use tempfile::TempDir;

use crate::boxes::project;
use crate::locks_only::{folder, locked};
use crate::made::LIMITS;
use crate::support::{finish, shell_in, text};

/// A project with a folder to work in and another beside it.
struct Scene {
    project: TempDir,
}

impl Scene {
    fn new() -> Self {
        let project = folder();
        for name in ["judged", "other"] {
            fs::create_dir(project.path().join(name)).unwrap();
        }
        Self { project }
    }

    fn judged(&self) -> PathBuf {
        self.project.path().join("judged")
    }

    /// Puts a link to the other folder, or that folder itself, in place of the judged one.
    fn swap(&self, by: Swap) {
        fs::rename(self.judged(), self.project.path().join("moved")).unwrap();
        let other = self.project.path().join("other");
        match by {
            Swap::Link => symlink("other", self.judged()).unwrap(),
            Swap::Folder => fs::rename(other, self.judged()).unwrap(),
        }
    }

    /// What a shell says of the folder that it starts in, judged before and swapped now.
    fn program(&self, by: Swap, in_box: fn(std::ffi::CString) -> Folder) -> Program {
        let spec = shell_in(&self.judged(), "pwd -P");
        self.swap(by);
        let place = in_box(text(self.judged().to_str().unwrap()));
        Program { spec, path: c"/bin/sh".to_owned(), folder: place }
    }
}

#[derive(Clone, Copy, Debug)]
enum Swap {
    Link,
    Folder,
}

/// Where the program started, in a sandbox that came to be in each way.
fn started(by: Swap, in_box: fn(std::ffi::CString) -> Folder) -> Vec<Result<String, StartError>> {
    let said = |running: Result<Running, StartError>, scene: &Scene| {
        let out = finish(&mut running?).1;
        let inside = Path::new(out.trim()).strip_prefix(scene.project.path()).map(Path::to_owned);
        Ok(inside.unwrap().to_str().unwrap().to_owned())
    };
    let from = |warmth, wanted| {
        let scene = Scene::new();
        let pool = SandboxPool::new(warmth);
        let ready = std::iter::repeat_with(|| pool.ready(project(scene.project.path()), LIMITS));
        let ready = ready.map(Result::unwrap).find(|ready| ready.origin() == wanted).unwrap();
        said(ready.run(scene.program(by, in_box)), &scene)
    };
    vec![
        from(PoolSize::NoTemplates, Origin::Made),
        from(PoolSize::Templates { spares: 0 }, Origin::Copied),
        from(PoolSize::Templates { spares: 1 }, Origin::Waiting),
    ]
}

#[test]
fn another_folder_in_its_place_is_not_entered() {
    let stale = StartError { step: Step::EnterDirectory, errno: Errno::STALE };
    for by in [Swap::Link, Swap::Folder] {
        assert_eq!(started(by, Folder::Judged), vec![Err(stale); 3], "{by:?}");
    }
    // Whoever asks for no more than a path gets what is there.
    assert_eq!(started(Swap::Link, Folder::Any), vec![Ok("other".to_owned()); 3]);
    assert_eq!(started(Swap::Folder, Folder::Any), vec![Ok("judged".to_owned()); 3]);
}

/// Without namespaces it is entered by its handle, wherever it has gone.
#[test]
fn without_a_box_it_is_the_judged_one() {
    if landlock_abi().is_none() {
        return;
    }
    for by in [Swap::Link, Swap::Folder] {
        let scene = Scene::new();
        let jail = locked(&scene.project);
        let Program { spec, .. } = scene.program(by, Folder::Judged);
        let (_, out, err) = finish(&mut start_jailed(spec, jail).unwrap());
        let moved = scene.project.path().join("moved");
        assert_eq!(out, format!("{}\n", moved.display()), "{by:?} {err}");
    }
}

/// Where the sandbox hides the working directory there is an empty one of its own, and nothing of
/// the host's.
#[test]
fn a_hidden_folder_is_the_boxs_own() {
    let hiding = |scene: &Scene, swapped_before: bool, swapped_after: bool| {
        fs::write(scene.judged().join("secret"), "").unwrap();
        let place = text(scene.judged().to_str().unwrap());
        if swapped_before {
            scene.swap(Swap::Link);
        }
        let mut jail = project(scene.project.path());
        jail.cwd = place.clone();
        if !swapped_before {
            jail.root.as_mut().unwrap().push(Mount::Hide { target: place.clone() });
        }
        let ready = SandboxPool::new(PoolSize::NoTemplates).ready(jail, LIMITS).unwrap();
        if swapped_after {
            scene.swap(Swap::Link);
        }
        let spec = shell_in(scene.project.path(), "pwd -P; ls");
        let folder = Folder::Hidden(place);
        let running = ready.run(Program { spec, path: c"/bin/sh".to_owned(), folder });
        running.map(|mut running| finish(&mut running).1)
    };
    let stale = StartError { step: Step::EnterDirectory, errno: Errno::STALE };
    let scene = Scene::new();
    let empty = format!("{}\n", scene.judged().display());
    assert_eq!(hiding(&scene, false, false), Ok(empty));
    assert_eq!(hiding(&Scene::new(), true, false), Err(stale));
    assert_eq!(hiding(&Scene::new(), false, true), Err(stale));
}
