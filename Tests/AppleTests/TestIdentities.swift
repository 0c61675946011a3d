// SPDX-License-Identifier: MIT

import PulseCore
import Security
import Testing

/// The certificates that `Scripts/apple-identities` has made.
enum TestIdentities {
    /// Nil: the suites that need them are disabled.
    static let folder = ProcessInfo.processInfo.environment["PULSE_APPLE_IDENTITIES"].map {
        URL(fileURLWithPath: $0, isDirectory: true)
    }

    static let missing: Comment = "PULSE_APPLE_IDENTITIES names no folder: see Scripts/apple-identities"
    static let password = "PulseTesting"

    static func data(_ name: String) throws -> Data {
        try Data(contentsOf: #require(folder).appendingPathComponent(name))
    }

    /// Settings that trust the servers of the authority.
    static func trusting(_ change: (inout TLSSettings) -> Void = { _ in }) throws -> TLSSettings {
        var settings = TLSSettings(certificateAuthorities: [try data("authority.der")])
        change(&settings)
        return settings
    }

    static func clientCertificate(_ name: String) throws -> TLSSettings.ClientCertificate {
        TLSSettings.ClientCertificate(pkcs12: try data("\(name).p12"), password: password)
    }

    static func certificate(_ name: String) throws -> SecCertificate {
        try #require(SecCertificateCreateWithData(nil, data("\(name).der") as CFData))
    }

    /// The identity of a server, which the listener presents with these certificates after its own.
    static func server(_ name: String, appending certificates: [SecCertificate] = []) throws -> sec_identity_t {
        var items: CFArray?
        let options = NSDictionary(dictionary: [AnyHashable(kSecImportExportPassphrase): password])
        let status = SecPKCS12Import(try data("\(name).p12") as CFData, options as CFDictionary, &items)
        try #require(status == errSecSuccess, "SecPKCS12Import: \(status)")
        let item = try #require((items as? [[String: Any]])?.first)
        let identity = try #require(item[kSecImportItemIdentity as String]) as AnyObject
        try #require(CFGetTypeID(identity) == SecIdentityGetTypeID())
        return try #require(
            sec_identity_create_with_certificates(
                unsafeDowncast(identity, to: SecIdentity.self), NSArray(array: certificates) as CFArray))
    }
}
