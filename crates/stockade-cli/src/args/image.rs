//! What can be typed about images.

use std::path::PathBuf;

use clap::Subcommand;
use stockade::confine::{EngineName, ImageName};

#[derive(Debug, clap::Args)]
pub(crate) struct Image {
    #[command(subcommand)]
    pub(crate) what: ImageWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImageWhat {
    /// Make an image of a local root file system, for the tiers container and gvisor
    Import(ImageImport),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImageImport {
    /// Give it to this engine: `podman` or `docker`; the first that answers if not given
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<EngineName>,
    /// A folder, or a plain tar file, that holds a root file system
    #[arg(value_name = "DIR|TAR")]
    pub(crate) source: PathBuf,
    /// What it is called in box.image and for --image; the name of the folder or file if not given
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<ImageName>,
}
