// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// Why opening a connection failed: the cause in a ``TransportFailure``. The text has no credentials.
struct ConnectionFailure: Error, Sendable, Hashable, CustomStringConvertible {
    let text: String
    /// The errno of a socket; 0 for another cause.
    var number: Int32 = 0
    /// The host and port of the proxy that could not be reached, or that failed before its tunnel was established.
    var proxy: String?

    init(_ text: String, proxy: String? = nil) {
        (self.text, self.proxy) = (text, proxy)
    }

    init(number: Int32) {
        (text, self.number) = (String(cString: strerror(number)), number)
    }

    var description: String { text + (proxy.map { ", by the proxy \($0)" } ?? "") }

    /// Whether the system ran out of descriptors or memory.
    var isExhaustion: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(number) }

    /// The failure of a host after its last address.
    func failure(hasTriedBothFamilies: Bool) -> TransportFailure {
        let code: URLError.Code =
            isExhaustion
            ? .resourceUnavailable
            : Self.connectCode(
                Int(number), hasTriedBothFamilies: hasTriedBothFamilies, hasDefaultRoute: pulse_has_default_route())
        return TransportFailure(code: code, phase: .beforeSend, underlying: self)
    }

    /// The code of a failed connection: an unreachable network or host counts as offline, any other errno as the host's
    /// failure.
    ///
    /// - Parameter number: the errno of the last address, which hides the others: a host may have refused at its IPv4
    ///   address, while its IPv6 address is unreachable.
    static func connectCode(
        _ number: Int, hasTriedBothFamilies: Bool, hasDefaultRoute: @autoclosure () -> Bool
    ) -> URLError.Code {
        switch Int32(truncatingIfNeeded: number) {
        case ENETUNREACH where hasTriedBothFamilies && hasDefaultRoute(): .cannotConnectToHost
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN: .notConnectedToInternet
        default: .cannotConnectToHost
        }
    }

    /// The failure of a name lookup.
    static func unresolved(_ error: Int32) -> TransportFailure {
        let cause = ConnectionFailure(String(cString: gai_strerror(error)))
        let code: URLError.Code =
            error == EAI_MEMORY || pulse_lacks_descriptors()
            ? .resourceUnavailable : pulse_has_default_route() ? .cannotFindHost : .notConnectedToInternet
        return TransportFailure(code: code, phase: .beforeSend, underlying: cause)
    }
}
#endif
