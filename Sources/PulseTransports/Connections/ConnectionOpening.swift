// SPDX-License-Identifier: MIT

import PulseCore

/// A new connection, and how it came about.
struct ConnectionOpening: Sendable {
    let connection: any ReusableConnection
    let timings: PulseResponse.Timings
    /// The keys of the verified chain, if none is pinned and the policy only reports.
    var unpinnedKeys: [[UInt8]]?
    /// Whether TLS has agreed on HTTP/2; HTTP/1.1 otherwise.
    var isHTTP2 = false
}
