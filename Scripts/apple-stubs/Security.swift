// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: what the sources use of Security.
import FoundationNetworking

public typealias OSStatus = Int32

public class sec_protocol_options {
    public init() {}
}

// In Apple's SDK a protocol of Objective-C objects.
public typealias sec_protocol_options_t = sec_protocol_options

// Here the enumeration of Foundation on Linux stands for Apple's, which has the same cases and numbers.
public typealias tls_protocol_version_t = FoundationNetworking.tls_protocol_version_t

public func sec_protocol_options_set_tls_server_name(
    _ options: sec_protocol_options_t, _ server_name: UnsafePointer<CChar>
) {}

public func sec_protocol_options_add_tls_application_protocol(
    _ options: sec_protocol_options_t, _ application_protocol: UnsafePointer<CChar>
) {}

public func sec_protocol_options_set_min_tls_protocol_version(
    _ options: sec_protocol_options_t, _ version: tls_protocol_version_t
) {}

public func sec_protocol_options_set_max_tls_protocol_version(
    _ options: sec_protocol_options_t, _ version: tls_protocol_version_t
) {}
