//! `stockade image`: images made from local root file systems.

use std::str::FromStr;

use stockade::confine::{ImageName, Oci};
use stockade::launch;

use crate::args::{Image, ImageImport, ImageWhat};
use crate::exit_code::Status;
use crate::{Answer, print};

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
            print::failed(&failure);
            return Ok(Status::Failed);
        }
    };
    for path in &imported.left_out {
        print::note(&format!("left out, for it is no file, folder or link: {path:?}"));
    }
    print::line(&format!("imported {name}"))?;
    match imported.engine {
        Some(engine) => print::line(&format!("  container: {engine} has it"))?,
        None => print::line("  container: no engine is here to take it (podman or docker)")?,
    }
    print::line(&format!("  gvisor: {}", imported.root.display()))?;
    Ok(Status::Ok)
}

fn named_after(typed: &ImageImport) -> Result<ImageName, String> {
    let stem = typed.source.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    ImageName::from_str(stem).map_err(|error| format!("name the image: {error}; give it a name"))
}
