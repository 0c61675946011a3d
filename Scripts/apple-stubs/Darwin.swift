// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: what the sources use of Darwin.
@_exported import Glibc

// os/lock.h, iOS 10, macOS 10.12.
public struct os_unfair_lock_s: Sendable {
    public init() {}
}

public typealias os_unfair_lock = os_unfair_lock_s

public func os_unfair_lock_lock(_ lock: UnsafeMutablePointer<os_unfair_lock_s>) {}
public func os_unfair_lock_trylock(_ lock: UnsafeMutablePointer<os_unfair_lock_s>) -> Bool { true }
public func os_unfair_lock_unlock(_ lock: UnsafeMutablePointer<os_unfair_lock_s>) {}

// sys/socket.h, iOS 2, macOS 10.2.
public let SO_NOSIGPIPE: Int32 = 0x1022

// sys/fcntl.h, iOS 2, macOS 10.2.
public let F_FULLFSYNC: Int32 = 51

// time.h, iOS 10, macOS 10.12.
public var CLOCK_UPTIME_RAW: clockid_t { 8 }

extension stat {
    // sys/stat.h, iOS 2, macOS 10.0.
    public var st_mtimespec: timespec { st_mtim }
}

// Another type than in Glibc, which is re-exported above. A name X of the sources becomes apple_X where a stub declares that.
// sys/socket.h, iOS 2, macOS 10.0.
public let apple_SOCK_STREAM: Int32 = 1

// spawn.h, iOS 2, macOS 10.5: a pointer, and not a structure.
public typealias apple_posix_spawn_file_actions_t = UnsafeMutableRawPointer
@discardableResult
public func apple_posix_spawn_file_actions_init(_ actions: UnsafeMutablePointer<UnsafeMutableRawPointer?>!) -> Int32 { 0 }
@discardableResult
public func apple_posix_spawn_file_actions_destroy(
    _ actions: UnsafeMutablePointer<UnsafeMutableRawPointer?>!
) -> Int32 { 0 }
@discardableResult
public func apple_posix_spawn_file_actions_addopen(
    _ actions: UnsafeMutablePointer<UnsafeMutableRawPointer?>!, _ descriptor: Int32,
    _ path: UnsafePointer<CChar>!, _ flags: Int32, _ mode: mode_t
) -> Int32 { 0 }
@discardableResult
public func apple_posix_spawn_file_actions_adddup2(
    _ actions: UnsafeMutablePointer<UnsafeMutableRawPointer?>!, _ from: Int32, _ to: Int32
) -> Int32 { 0 }
@discardableResult
public func apple_posix_spawn(
    _ process: UnsafeMutablePointer<pid_t>!, _ path: UnsafePointer<CChar>!,
    _ actions: UnsafePointer<UnsafeMutableRawPointer?>!, _ attributes: UnsafePointer<UnsafeMutableRawPointer?>!,
    _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>!, _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>!
) -> Int32 { 0 }

// What Glibc has and Darwin has not, as far as somebody may reach for it.
@available(*, unavailable, message: "Linux only")
public let apple_MSG_NOSIGNAL: Int32 = 0
@available(*, unavailable, message: "Linux only")
public let apple_SOCK_CLOEXEC: Int32 = 0
@available(*, unavailable, message: "Linux only")
public let apple_SOCK_NONBLOCK: Int32 = 0
@available(*, unavailable, message: "Linux only")
public func apple_accept4() {}
@available(*, unavailable, message: "Linux only")
public func apple_pipe2() {}
@available(*, unavailable, message: "Linux only")
public func apple_getrandom() {}

// dlfcn.h, iOS 2, macOS 10.3. Glibc's header hides both from Swift.
public struct Dl_info {
    public var dli_fname: UnsafePointer<CChar>!
    public init() {}
}
public func dladdr(_ address: UnsafeRawPointer!, _ information: UnsafeMutablePointer<Dl_info>!) -> Int32 { 0 }
