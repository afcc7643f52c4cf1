//! Attacks on files: paths, links, mounts, metadata, the kernel's own file systems.

mod absolute_path;
mod chmod;
mod dot_dot_path;
mod hard_link;
mod link_that_is_read;
mod link_that_is_written;
mod nested_mount;
mod protected_write;
mod rename_out;
mod unmounted_cover;

use crate::support::suite;

suite! {
    absolute_path,
    chmod,
    dot_dot_path,
    hard_link,
    link_that_is_read,
    link_that_is_written,
    nested_mount,
    protected_write,
    rename_out,
    unmounted_cover,
}
