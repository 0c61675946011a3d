// SPDX-License-Identifier: MIT

// What the sources use of Security. IntegrationTests/apple runs the keychain's functions, which keep their items in memory; no
// other body is ever run.
import Dispatch
import Foundation
import FoundationNetworking

// MacTypes.h, iOS 2, macOS 10.0.
public typealias OSStatus = Int32

// CoreFoundation, which Security re-exports. In Apple's SDK these are classes without members, which bridge to and from those
// of Foundation and of Swift by `as`. Here they have no members either; check-apple writes calls of the functions below in place
// of `as`, which knows no such bridge on Linux, and `any`. CFError conforms to Error in Foundation. CFBase.h and others, iOS 2,
// macOS 10.0.
public typealias CFIndex = Int
public typealias CFTypeID = UInt
public typealias CFTypeRef = AnyObject
public protocol CFArray {}
public protocol CFData {}
public protocol CFDictionary {}
extension NSArray: CFArray {}
extension Array: CFArray {}
extension NSData: CFData {}
extension Data: CFData {}
extension NSDictionary: CFDictionary {}
extension Dictionary: CFDictionary {}
public struct CFString: Hashable, ExpressibleByStringLiteral {
    let text: String
    public init(stringLiteral value: String) { text = value }
}
public typealias CFAllocator = NSObject

public func string(of constant: CFString) -> String { "" }
public func cfString(_ text: String) -> CFString { "" }
public func cast(_ data: any CFData, to type: NSData.Type) -> NSData { NSData() }
public func cast(_ data: any CFData, to type: Data.Type) -> Data { Data() }

public func CFGetTypeID(_ cf: CFTypeRef!) -> CFTypeID { 0 }

// CFError.h, iOS 2, macOS 10.5.
public final class CFError: Error, @unchecked Sendable {}

public func CFErrorGetCode(_ err: CFError!) -> CFIndex { 0 }

// SecBase.h, iOS 2, macOS 10.3. Not Sendable: that is not confirmed for every SDK, and the sources do without.
public class SecTrust {}

public class SecCertificate {}

public class SecIdentity {}

public class SecPolicy {}

// SecBase.h, iOS 2, macOS 10.3.
public var errSecSuccess: OSStatus { 0 }

// SecTrust.h, iOS 12, macOS 10.14. The error is nullable in both ways.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { false }

// SecTrust.h, iOS 2, macOS 10.3 and iOS 7, macOS 10.3. The arguments of the first two are nullable or not by their kind.
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: (any CFArray)?) -> OSStatus { 0 }
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus { 0 }
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus { 0 }

// SecPolicy.h, iOS 2, macOS 10.6.
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: (CFString)?) -> SecPolicy { SecPolicy() }

// SecImportExport.h, iOS 2, macOS 10.6 (10.7 for the key of the passphrase).
public func SecPKCS12Import(
    _ pkcs12_data: any CFData, _ options: any CFDictionary, _ items: UnsafeMutablePointer<(any CFArray)?>
) -> OSStatus { 0 }
public var kSecImportExportPassphrase: CFString { "" }
// iOS 18, macOS 15.
public var kSecImportToMemoryOnly: CFString { "" }
public var kSecImportItemIdentity: CFString { "" }
public var kSecImportItemCertChain: CFString { "" }

// SecIdentity.h, iOS 2, macOS 10.3.
public func SecIdentityGetTypeID() -> CFTypeID { 0 }

// SecTrust.h, iOS 15, macOS 12.
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> (any CFArray)? { nil }

// SecCertificate.h, iOS 2, macOS 10.3 (10.6 for the first).
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: any CFData) -> SecCertificate? { nil }
public func SecCertificateCopyData(_ certificate: SecCertificate) -> any CFData { NSData() }

// SecItem.h: the constants are `extern const CFStringRef`. iOS 2, macOS 10.6.
public var kSecClass: CFString { "class" }
public var kSecClassGenericPassword: CFString { "genp" }
public var kSecAttrService: CFString { "svce" }
public var kSecAttrAccount: CFString { "acct" }
// iOS 3, macOS 10.9.
public var kSecAttrAccessGroup: CFString { "agrp" }
// iOS 4, macOS 10.9.
public var kSecAttrAccessible: CFString { "pdmn" }
public var kSecAttrAccessibleAfterFirstUnlock: CFString { "ck" }
public var kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString { "cku" }
// iOS 13, macOS 10.15.
public var kSecUseDataProtectionKeychain: CFString { "nleg" }
public var kSecValueData: CFString { "v_Data" }
public var kSecReturnData: CFString { "r_Data" }
public var kSecMatchLimit: CFString { "m_Limit" }
public var kSecMatchLimitOne: CFString { "m_LimitOne" }

// SecItem.h, iOS 2, macOS 10.6; the results are nullable in both ways. The statuses are those of SecBase.h.
public func SecItemCopyMatching(_ query: any CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    guard let item = KeychainItems.matches(query).first else { return -25300 }
    if attributes(query)[kSecReturnData] as? Bool == true { result?.pointee = item[kSecValueData] as? NSData }
    return errSecSuccess
}

public func SecItemAdd(_ attributes: any CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    KeychainItems.add(attributes)
}

public func SecItemUpdate(_ query: any CFDictionary, _ attributesToUpdate: any CFDictionary) -> OSStatus {
    KeychainItems.change(query) { $0.merging(attributes(attributesToUpdate)) { $1 } }
}

public func SecItemDelete(_ query: any CFDictionary) -> OSStatus { KeychainItems.change(query) { _ in nil } }

private func attributes(_ dictionary: any CFDictionary) -> [CFString: NSObject] {
    var found: [CFString: NSObject] = [:]
    for (key, value) in dictionary as? NSDictionary ?? [:] {
        guard let key = (key as? AnyHashable)?.base as? CFString else { continue }
        found[key] =
            switch value {
            case let data as Data: data as NSData
            case let constant as CFString: constant.text as NSString
            case let text as String: text as NSString
            case let flag as Bool: flag as NSNumber
            default: value as? NSObject
            }
    }
    return found
}

// Not of Security: the items of the stand-in.
public enum KeychainItems {
    private static let lock = NSLock()
    nonisolated(unsafe) private static var items: [[CFString: NSObject]] = []
    /// What tells one generic password from another.
    private static let identity = [kSecClass, kSecAttrService, kSecAttrAccount, kSecAttrAccessGroup]

    static func matches(_ query: any CFDictionary) -> [[CFString: NSObject]] {
        lock.withLock { items.filter { fits($0, attributes(query)) } }
    }

    static func add(_ dictionary: any CFDictionary) -> OSStatus {
        lock.withLock {
            var item = attributes(dictionary)
            guard item[kSecClass] != nil, item[kSecValueData] != nil else { return -50 }
            // The first of the app's groups.
            if item[kSecAttrAccessGroup] == nil { item[kSecAttrAccessGroup] = "default" as NSString }
            guard !items.contains(where: { old in identity.allSatisfy { old[$0] == item[$0] } }) else { return -25299 }
            items.append(item)
            return errSecSuccess
        }
    }

    static func change(
        _ query: any CFDictionary, _ change: ([CFString: NSObject]) -> [CFString: NSObject]?
    ) -> OSStatus {
        lock.withLock {
            let wanted = attributes(query)
            guard items.contains(where: { fits($0, wanted) }) else { return -25300 }
            items = items.compactMap { fits($0, wanted) ? change($0) : $0 }
            return errSecSuccess
        }
    }

    /// An attribute of each item of a service, as a text.
    public static func values(of key: CFString, service: String) -> [String] {
        lock.withLock { items.filter { $0[kSecAttrService] == service as NSString }.map { "\($0[key] ?? NSNull())" } }
    }

    private static func fits(_ item: [CFString: NSObject], _ query: [CFString: NSObject]) -> Bool {
        identity.allSatisfy { query[$0] == nil || query[$0] == item[$0] }
    }
}

// These are in Foundation, whose stub cannot import this module: this one imports it. NSURLProtectionSpace.h, iOS 3,
// macOS 10.6; nullable.
extension URLProtectionSpace {
    public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    // NSURLCredential.h, iOS 3, macOS 10.6; `identity` is nullable, `certificates` is not.
    public convenience init(trust: SecTrust) {
        self.init(user: "", password: "", persistence: .none)
    }

    public convenience init(identity: SecIdentity, certificates certArray: [Any]?, persistence: Persistence) {
        self.init(user: "", password: "", persistence: persistence)
    }

    public var identity: SecIdentity? { nil }
    public var certificates: [Any] { [] }
}

// SecProtocolOptions.h, iOS 12, macOS 10.14.
public class sec_protocol_options {
    public init() {}
}

// In Apple's SDK a protocol of Objective-C objects.
public typealias sec_protocol_options_t = sec_protocol_options

// SecProtocolTypes.h, iOS 13, macOS 10.15. Here the enumeration of Foundation on Linux stands for
// Apple's, which has the same cases and numbers.
public typealias tls_protocol_version_t = FoundationNetworking.tls_protocol_version_t

public func sec_protocol_options_set_tls_server_name(
    _ options: sec_protocol_options_t, _ server_name: UnsafePointer<CChar>
) {}

public func sec_protocol_options_add_tls_application_protocol(
    _ options: sec_protocol_options_t, _ application_protocol: UnsafePointer<CChar>
) {}

// SecProtocolOptions.h, iOS 13, macOS 10.15.
public func sec_protocol_options_set_min_tls_protocol_version(
    _ options: sec_protocol_options_t, _ version: tls_protocol_version_t
) {}

public func sec_protocol_options_set_max_tls_protocol_version(
    _ options: sec_protocol_options_t, _ version: tls_protocol_version_t
) {}

// SecProtocolObject.h and SecProtocolTypes.h, iOS 12, macOS 10.14.
public class sec_identity {}

public typealias sec_identity_t = sec_identity

public class sec_trust {}

public typealias sec_trust_t = sec_trust

public class sec_protocol_metadata {}

public typealias sec_protocol_metadata_t = sec_protocol_metadata

public func sec_identity_create(_ identity: SecIdentity) -> sec_identity_t? { nil }

public func sec_identity_create_with_certificates(
    _ identity: SecIdentity, _ certificates: any CFArray
) -> sec_identity_t? { nil }

public func sec_trust_copy_ref(_ trust: sec_trust_t) -> Unmanaged<SecTrust> { .passRetained(SecTrust()) }

// SecProtocolOptions.h, iOS 12, macOS 10.14.
public typealias sec_protocol_verify_complete_t = (Bool) -> Void

public typealias sec_protocol_verify_t = (
    sec_protocol_metadata_t, sec_trust_t, @escaping sec_protocol_verify_complete_t
) -> Void

public func sec_protocol_options_set_local_identity(_ options: sec_protocol_options_t, _ identity: sec_identity_t) {}

public func sec_protocol_options_set_peer_authentication_required(
    _ options: sec_protocol_options_t, _ peer_authentication_required: Bool
) {}
public func sec_protocol_options_set_verify_block(
    _ options: sec_protocol_options_t, _ verify_block: @escaping sec_protocol_verify_t,
    _ verify_block_queue: DispatchQueue
) {}

public func sec_protocol_options_set_tls_resumption_enabled(
    _ options: sec_protocol_options_t, _ resumption_enabled: Bool
) {}
