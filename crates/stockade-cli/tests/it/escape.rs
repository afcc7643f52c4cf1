//! Attacks on what Stockade does outside of the sandbox, one in a file: on the supervisor, its own files, the
//! next call, and the machine. Each has a control half, in which the attack succeeds without the protection.
//! Attacks on the sandbox itself are in the escape suite of `stockade-sandbox`.

mod absent_places;
mod foreign_scratch;
mod host_devices;
mod hostile_files;
mod outside_names;
mod own_places;
mod places;
mod running_program;
mod session_sockets;
mod swapped_folder;
