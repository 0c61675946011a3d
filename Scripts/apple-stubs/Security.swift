// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: what the sources use of Security.
import Foundation
import FoundationNetworking

public typealias OSStatus = Int32

// CoreFoundation, which Security re-exports. In Apple's SDK these are classes of their own, which bridge to those of
// Foundation by `as`; CFError conforms to Error in Foundation.
public typealias CFIndex = Int
public typealias CFArray = NSArray
public typealias CFData = NSData

public final class CFError: Error, @unchecked Sendable {}

public func CFErrorGetCode(_ err: CFError!) -> CFIndex { 0 }

// Not Sendable: that is not confirmed for every SDK, and the sources do without.
public class SecTrust {}

public class SecCertificate {}

// SecTrust.h, iOS 12, macOS 10.14. The error is nullable in both ways.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { false }

// SecTrust.h, iOS 15, macOS 12.
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }

// SecCertificate.h, iOS 2, macOS 10.3.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { NSData() }

// These are in Foundation, whose stub cannot import this module: this one imports it. iOS 2, macOS 10.3.
extension URLProtectionSpace {
    public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    public convenience init(trust: SecTrust) {
        self.init(user: "", password: "", persistence: .none)
    }
}

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
