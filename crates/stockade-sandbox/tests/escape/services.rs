//! Attacks on what runs outside: sockets, shared memory, processes, terminals.

mod abstract_datagram;
mod abstract_listener;
mod abstract_packets;
mod agent_socket;
mod any_address;
mod comparison_of_processes;
mod descriptor_of_others;
mod disk_priority_of_others;
mod display_socket;
mod engine_socket;
mod fast_packet_socket;
mod key;
mod limits_of_others;
mod list_of_sockets;
mod loopback_datagram;
mod loopback_service;
mod loopback_service_6;
mod memory_of_others;
mod message_queue;
mod multipath_socket;
mod named_queue;
mod netlink_of_audit;
mod netlink_of_events;
mod netlink_of_routes;
mod netlink_of_transforms;
mod packet_socket;
mod page_faults;
mod path_datagram;
mod performance_counter;
mod priority_of_others;
mod raw_socket;
mod ring_of_calls;
mod secret_memory;
mod semaphore;
mod shared_memory;
mod shown_socket;
mod signal;
mod signal_by_handle;
mod signal_to_the_first;
mod socket_of_ciphers;
mod socket_to_the_host_of_a_machine;
mod terminal_injection;
mod terminal_injection_in_disguise;
mod trace;
mod trace_of_others;

use crate::support::suite;

suite! {
    abstract_datagram,
    abstract_listener,
    abstract_packets,
    agent_socket,
    any_address,
    comparison_of_processes,
    descriptor_of_others,
    disk_priority_of_others,
    display_socket,
    engine_socket,
    fast_packet_socket,
    key,
    limits_of_others,
    list_of_sockets,
    loopback_datagram,
    loopback_service,
    loopback_service_6,
    memory_of_others,
    message_queue,
    multipath_socket,
    named_queue,
    netlink_of_audit,
    netlink_of_events,
    netlink_of_routes,
    netlink_of_transforms,
    packet_socket,
    page_faults,
    path_datagram,
    performance_counter,
    priority_of_others,
    raw_socket,
    ring_of_calls,
    secret_memory,
    semaphore,
    shared_memory,
    shown_socket,
    signal,
    signal_by_handle,
    signal_to_the_first,
    socket_of_ciphers,
    socket_to_the_host_of_a_machine,
    terminal_injection,
    terminal_injection_in_disguise,
    trace,
    trace_of_others,
}
