//! Attacks on what the machine has: memory, processes, files, time.

mod address_space;
mod core_file;
mod file_size;
mod filled_project;
mod filled_shared_memory;
mod filled_temporary_folder;
mod memory;
mod memory_files;
mod memory_of_many;
mod open_files;
mod processes;
mod processor_time;
mod raised_limit;
mod sparse_file;
mod threads;
mod zombies;

use crate::support::suite;

suite! {
    address_space,
    core_file,
    file_size,
    filled_project,
    filled_shared_memory,
    filled_temporary_folder,
    memory,
    memory_files,
    memory_of_many,
    open_files,
    processes,
    processor_time,
    raised_limit,
    sparse_file,
    threads,
    zombies,
}
