// SPDX-License-Identifier: MIT

import Reporting

// Ratios of two figures of one run. A machine with small caches is slower with much code: the limits leave room for
// that, and those in `Benchmarks/instructions` leave none.
extension Promise {
    /// A bare call against the sum of its unavoidable parts.
    static let ratio = 3.0
    /// The part of a bare call that one more plugin may add.
    static let plugin = 0.1
    /// The part of a bare call that a plugin of the recommended chain may add beyond the header fields that it writes,
    /// the body that it decodes, its UUID and its signature.
    static let pluginBeyondItsWork = 0.35
    /// The same for the plugin that runs the request in a task of its own, under a key of all that calls must have in
    /// common.
    static let coalescing = 1.0
    /// The same for the logger's one line: its text, passed to a closure.
    static let logLine = 0.5
    /// How many bare calls the whole recommended chain may add to one.
    static let chain = 6.0
    /// The allocations of a GraphQL operation against those of an ordinary call with the same JSON.
    static let graphQL = 1.5
    /// The margin of the limits above: the difference of minima of the same code from run to run on a busy machine.
    static let noise = 0.03
    /// Bytes that the process may grow by over 100,000 calls: the allocator's overhead, and two bytes per call at most.
    static let growth = 200_000.0
}
