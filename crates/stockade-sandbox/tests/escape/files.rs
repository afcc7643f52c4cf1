//! Attacks on files: paths, links, mounts, metadata, the kernel's own file systems.

mod absent_made;
mod absent_moved_in;
mod absent_through_link;
mod absolute_path;
mod bind_mount;
mod cgroup_mount;
mod changed_root;
mod chmod;
mod command_line_of_others;
mod device_of_file_systems;
mod dot_dot_path;
mod emergency_keys;
mod environment_of_others;
mod facts_of_the_machine;
mod file_by_number;
mod handle_chmod;
mod hard_link;
mod hidden_file;
mod hidden_folder;
mod hidden_linked;
mod hidden_made_readable;
mod hidden_moved_aside;
mod inherited_folder;
mod kernel_setting;
mod link_that_is_read;
mod link_that_is_written;
mod list_of_keys;
mod made_device;
mod made_set_user_id;
mod many_files;
mod nested_mount;
mod objects_of_the_kernel;
mod opened_set_user_id;
mod own_root_in_proc;
mod passed_file;
mod passed_folder;
mod pivoted_root;
mod planted_device;
mod planted_set_user_id;
mod private_file_of_root;
mod protected_folder_filled;
mod protected_parent_exchanged;
mod protected_parent_moved;
mod protected_removed;
mod protected_replaced;
mod protected_write;
mod rename_in;
mod rename_out;
mod root_of_others;
mod root_of_the_box;
mod shared_memory_folder;
mod shown_attribute;
mod shown_cut;
mod shown_flags;
mod shown_lease;
mod shown_lock;
mod shown_pipe;
mod shown_removed;
mod shown_reopened;
mod shown_times;
mod shown_written;
mod temporary_folder;
mod terminal_device;
mod timers_of_the_kernel;
mod unmounted_cover;
mod view_of_cgroups;
mod watch_of_file_systems;
mod watch_outside;

use crate::support::suite;

suite! {
    absent_made,
    absent_moved_in,
    absent_through_link,
    absolute_path,
    bind_mount,
    cgroup_mount,
    changed_root,
    chmod,
    command_line_of_others,
    device_of_file_systems,
    dot_dot_path,
    emergency_keys,
    environment_of_others,
    facts_of_the_machine,
    file_by_number,
    handle_chmod,
    hard_link,
    hidden_file,
    hidden_folder,
    hidden_linked,
    hidden_made_readable,
    hidden_moved_aside,
    inherited_folder,
    kernel_setting,
    link_that_is_read,
    link_that_is_written,
    list_of_keys,
    made_device,
    made_set_user_id,
    many_files,
    nested_mount,
    objects_of_the_kernel,
    opened_set_user_id,
    own_root_in_proc,
    passed_file,
    passed_folder,
    pivoted_root,
    planted_device,
    planted_set_user_id,
    private_file_of_root,
    protected_folder_filled,
    protected_parent_exchanged,
    protected_parent_moved,
    protected_removed,
    protected_replaced,
    protected_write,
    rename_in,
    rename_out,
    root_of_others,
    root_of_the_box,
    shared_memory_folder,
    shown_attribute,
    shown_cut,
    shown_flags,
    shown_lease,
    shown_lock,
    shown_pipe,
    shown_removed,
    shown_reopened,
    shown_times,
    shown_written,
    temporary_folder,
    terminal_device,
    timers_of_the_kernel,
    unmounted_cover,
    view_of_cgroups,
    watch_of_file_systems,
    watch_outside,
}
