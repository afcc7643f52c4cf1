//! Attacks on the kernel's surface: namespaces, privileges, calls that no tool needs.

mod attributes_of_mounts;
mod bounding_set;
mod changed_host_name;
mod cloned_by_a_structure;
mod cloned_user_namespace;
mod copied_mounts;
mod descriptor_table;
mod entered_namespace;
mod executable_memory;
mod foreign_architecture;
mod host_name;
mod kernel_log;
mod list_of_mounts;
mod listener;
mod module;
mod netlink_of_the_firewall;
mod new_mounts;
mod new_network;
mod new_privileges;
mod new_processes;
mod new_time;
mod new_user_namespace;
mod opened_file_system;
mod program_in_the_kernel;

use crate::support::suite;

suite! {
    attributes_of_mounts,
    bounding_set,
    changed_host_name,
    cloned_by_a_structure,
    cloned_user_namespace,
    copied_mounts,
    descriptor_table,
    entered_namespace,
    executable_memory,
    foreign_architecture,
    host_name,
    kernel_log,
    list_of_mounts,
    listener,
    module,
    netlink_of_the_firewall,
    new_mounts,
    new_network,
    new_privileges,
    new_processes,
    new_time,
    new_user_namespace,
    opened_file_system,
    program_in_the_kernel,
}
