//! `stockade image`: images made from local root file systems.

use std::str::FromStr;

use stockade::confine::{ImageName, Oci};
use stockade::launch;

use crate::args::{Image, ImageImport, ImageWhat};
use crate::exit_code::Status;
use crate::{Answer, render};

/// Makes images.
pub(crate) fn image(image: &Image) -> Answer {
    match &image.what {
        ImageWhat::Import(import) => make(import),
    }
}

fn make(typed: &ImageImport) -> Answer {
    let name = match &typed.name {
        Some(name) => name.clone(),
        None => named_after(typed)?,
    };
    let oci = Oci { engine: typed.engine, ..Oci::default() };
    let imported = match launch::import(&typed.source, &name, &oci) {
        Ok(imported) => imported,
        Err(failure) => {
            render::failed(&failure);
            return Ok(Status::Failed);
        }
    };
    for path in &imported.left_out {
        render::note(&format!("left out, for it is no file, folder or link: {path:?}"));
    }
    render::say(&format!("imported {name}"))?;
    match imported.engine {
        Some(engine) => render::say(&format!("  container: {engine} has it"))?,
        None => render::say("  container: no engine is here to take it (podman or docker)")?,
    }
    render::say(&format!("  gvisor: {}", imported.root.display()))?;
    Ok(Status::Ok)
}

fn named_after(typed: &ImageImport) -> Result<ImageName, String> {
    let stem = typed.source.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    ImageName::from_str(stem).map_err(|error| format!("name the image: {error}; give it a name"))
}
