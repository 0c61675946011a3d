// SPDX-License-Identifier: MIT

import PulseCore

/// The TLS options that a channel sets.
struct ChannelTLS: Sendable, Hashable {
    /// The name in the handshake; nil for an IP address.
    let serverName: String?
    /// The name or address that the certificate must be for.
    let certifiedName: String
    /// The only protocol offered: otherwise ALPN could select HTTP/2.
    let applicationProtocol = "http/1.1"
    /// The numbers of the versions on the wire.
    let minimumVersion: UInt16
    let maxVersion: UInt16
    /// Whether the channel evaluates the server's certificates itself.
    let evaluatesTrust: Bool

    /// A resumed session has no chain to check.
    var resumesSessions: Bool { !evaluatesTrust }

    /// Throws ``PulseError/invalidRequest(reason:)`` if the settings and the session's configuration leave no version.
    ///
    /// - Parameter minimum: of the session's configuration. App Transport Security, which requires TLS 1.2 of a
    ///   session, does not apply to channels.
    /// - Parameter maximum: of the session's configuration.
    init(_ settings: ChannelSettings, from minimum: UInt16, upTo maximum: UInt16) throws(PulseError) {
        serverName = settings.address.serverName
        certifiedName = settings.address.serverName ?? settings.address.plainHost
        minimumVersion = settings.minimumVersion.raising(minimum)
        maxVersion = maximum
        evaluatesTrust = settings.evaluatesTrust
        guard minimumVersion <= maxVersion else {
            throw .invalidRequest(
                reason: "`minimumVersion` of the TLS settings is beyond the maximum of the session's configuration")
        }
    }
}

extension TLSSettings.Version {
    /// The number of a configured minimum, or of this version if that is later.
    func raising(_ minimum: UInt16) -> UInt16 { max(number, minimum) }
}
