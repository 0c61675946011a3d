// SPDX-License-Identifier: MIT

import PulseCore

/// A new connection, with the results of opening it.
struct ConnectionOpening: Sendable {
    let connection: any ReusableConnection
    let timings: PulseResponse.Timings
    /// The keys of the verified chain, if none is pinned and the policy is report-only.
    var unpinnedKeys: [[UInt8]]?
    /// Whether ALPN selected HTTP/2; HTTP/1.1 otherwise.
    var isHTTP2 = false
}
