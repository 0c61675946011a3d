// SPDX-License-Identifier: MIT

import Reporting

extension Promise {
    /// A bare call against the sum of its unavoidable parts.
    static let ratio = 3.0
    /// Nanoseconds that one more plugin may add.
    static let plugin = 1_000.0
    /// Nanoseconds that a plugin of the recommended chain may add beyond the header fields that it writes, the body that it
    /// decodes, its UUID and its signature.
    static let pluginOfItsOwn = 1_500.0
    /// Nanoseconds that a call may take for the logger's one line: its text, passed to a closure.
    static let logLine = 5_000.0
    /// Nanoseconds that the whole recommended chain may add to a bare call.
    static let chain = 35_000.0
    /// The margin of the limits above: the difference of minima of the same code from run to run on a busy machine.
    static let noise = 0.03
    /// Bytes that the process may grow by over 100,000 calls: the allocator's overhead, and two bytes per call at most.
    static let growth = 200_000.0
}
