// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// Authorities that connections share: a file with all of them, a directory with one in each file, or both. They are
/// read for the first connection, and again once the file or the directory has changed: to read a system's takes twenty
/// times as long as the rest of a handshake.
final class TLSAuthorities: @unchecked Sendable {
    // Unchecked: the store has a lock of its own.
    let store: OpaquePointer
    /// For error texts.
    let places: String

    /// Those of the system, or of the variables `SSL_CERT_FILE` and `SSL_CERT_DIR`; nil without OpenSSL.
    static let system: TLSAuthorities? = {
        guard pulse_tls_client_load() else { return nil }
        var (file, directory): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
        pulse_tls_system_store(&file, &directory)
        return TLSAuthorities(
            file: file.map { String(cString: $0) }, directory: directory.map { String(cString: $0) })
    }()

    /// Only where TLS is supported. Nil without memory.
    init?(file: String?, directory: String?) {
        guard let store = pulse_tls_store_new(file, directory) else { return nil }
        self.store = store
        places = [file, directory].compactMap(\.self).joined(separator: ", ")
    }

    deinit {
        pulse_tls_store_free(store)
    }
}
#endif
