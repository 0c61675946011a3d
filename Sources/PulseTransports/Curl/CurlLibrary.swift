// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The capabilities of the loaded libcurl. All version checks are here, so that tests can simulate an earlier version.
struct CurlLibrary: Sendable {
    /// `0x075801` is 7.88.1.
    let version: UInt32
    let features: Int32
    /// Whether the verified chain can be read, which requires OpenSSL.
    let readsVerifiedChain: Bool

    /// Nil if libcurl does not tell where they are (7.70), or without OpenSSL: libcurl then reads them for each
    /// connection.
    var systemAuthorities: CurlAuthorities?

    /// 7.68.0, the oldest supported version.
    private static let floor: UInt32 = 0x074400

    /// The system's libcurl; nil if it is missing or older than 7.68.
    static let system: CurlLibrary? = {
        guard pulse_curl_load(), let version = pulse_curl_version() else { return nil }
        let library = CurlLibrary(
            version: version.pointee.version_num, features: version.pointee.features,
            readsVerifiedChain: pulse_tls_can_pin(), systemAuthorities: .system)
        return library.version >= floor ? library : nil
    }()

    /// `CURLOPT_SSLCERT_BLOB`, 7.71.
    var takesClientCertificates: Bool { version >= 0x074700 && has(PULSE_CURL_VERSION_SSL) }
    /// `CURLOPT_CAINFO_BLOB`, 7.77.
    var takesAuthorities: Bool { version >= 0x074D00 && has(PULSE_CURL_VERSION_SSL) }
    /// `CURLOPT_PREREQFUNCTION`, 7.80: a callback on the connection before anything of the request is sent.
    var hasPrerequest: Bool { version >= 0x075000 }
    /// `CURLOPT_QUICK_EXIT`, 7.87: ending a transfer does not wait for name resolution.
    var leavesResolverBehind: Bool { version >= 0x075700 }

    /// 8.19: neither the end of an HTTP/2 connection nor a refusal has an error text; only the log tells them apart.
    var logsRefusals: Bool { version >= 0x081300 }

    /// 7.87: its TLS writes also use `MSG_NOSIGNAL`.
    var writesWithoutSignal: Bool { version >= 0x075700 }

    /// Whether a handle may carry a second request: not from 7.83 to 8.1.0, even if tests simulate another version.
    ///
    /// Its header store keeps a pointer into the previous request's fields, which are freed by then. A server whose
    /// head begins with a folded line makes libcurl use that pointer (curl/curl #11101).
    static let reusesHandles: Bool = {
        guard pulse_curl_load(), let version = pulse_curl_version()?.pointee.version_num else { return false }
        return version < 0x075300 || version > 0x080100
    }()

    var capabilities: TransportCapabilities {
        var capabilities: TransportCapabilities = [.proxy, .httpVersions]
        if hasPrerequest, readsVerifiedChain { capabilities.insert(.pinning) }
        if takesClientCertificates, takesAuthorities { capabilities.insert(.tls) }
        return capabilities
    }

    private func has(_ feature: some FixedWidthInteger) -> Bool {
        features & Int32(truncatingIfNeeded: feature) != 0
    }
}
#endif
