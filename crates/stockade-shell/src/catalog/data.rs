//! The data that is built in, as the build script made it: the same in every profile.

use super::index::Block;

include!(concat!(env!("OUT_DIR"), "/data.rs"));
