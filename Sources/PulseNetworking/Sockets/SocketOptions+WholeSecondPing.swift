// SPDX-License-Identifier: MIT

extension SocketOptions {
    // A separate protocol, for the same reason as `RequestOptions.WholeSecondTimeout`.
    /// The ping interval of a socket's endpoint in whole seconds, so that `let pingInterval = 20`, an `Int`, has the
    /// same meaning as `20.0`.
    public protocol WholeSecondPing {
        /// Whole seconds between two pings; 30 by default, 0 for none.
        var pingInterval: Int { get }
    }
}

extension SocketOptions.WholeSecondPing {
    public var pingInterval: Int { 30 }
}

/// Reads the property through its protocol, where its type is unambiguous.
func wholeSeconds(ofPing endpoint: some SocketOptions.WholeSecondPing) -> Int { endpoint.pingInterval }
