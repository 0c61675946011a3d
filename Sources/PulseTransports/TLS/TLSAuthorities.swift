// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// Authorities that connections share: a file with all of them, a directory with one in each file, or both. They are
/// read for the first connection, and again once the file or the directory has changed: reading a system's takes twenty
/// times as long as the rest of a handshake.
final class TLSAuthorities: @unchecked Sendable {
    // Unchecked: the store has its own lock.
    let store: OpaquePointer
    /// For error messages.
    let places: String

    /// The authorities of the system, or of the variables `SSL_CERT_FILE` and `SSL_CERT_DIR`; nil without OpenSSL.
    static let system: TLSAuthorities? = {
        guard pulse_tls_client_load() else { return nil }
        let found = TLSAuthorities.locations { name in pulse_tls_variable(name).map { String(cString: $0) } }
        return TLSAuthorities(file: found.file, directory: found.directory)
    }()

    /// The file and the directory of the variables, or the usual ones if neither is set: naming one place excludes
    /// others. Only where TLS is supported.
    ///
    /// - Parameter variable: reads a variable that is not empty.
    static func locations(_ variable: (String) -> String?) -> (file: String?, directory: String?) {
        let named = (file: variable("SSL_CERT_FILE"), directory: variable("SSL_CERT_DIR"))
        guard named.file == nil, named.directory == nil else { return named }
        var (file, directory): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
        pulse_tls_usual_store(&file, &directory)
        return (file.map { String(cString: $0) }, directory.map { String(cString: $0) })
    }

    /// Only where TLS is supported. Nil if out of memory.
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
