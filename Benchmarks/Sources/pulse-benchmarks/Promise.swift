// SPDX-License-Identifier: MIT

/// What the cost of a call must stay under, and what the measurement itself may be wrong by.
struct Promise: Sendable {
    let text: String
    let limit: Double
    let measured: Double
    /// How far above the limit a figure may be before it counts as broken, as a part of the limit.
    let margin: Double

    var holds: Bool { measured <= limit * (1 + margin) }

    var verdict: String {
        guard holds else { return "BROKEN" }
        return measured <= limit ? "holds" : "holds within the margin"
    }

    /// A bare call against the sum of its unavoidable parts.
    static let ratio = 3.0
    /// Nanoseconds that one more plugin may add.
    static let plugin = 1_000.0
    /// Bytes that the process may grow by over 100,000 calls: the allocator's own dealings, and two bytes a call at most.
    static let growth = 200_000.0
}
