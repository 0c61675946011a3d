// SPDX-License-Identifier: MIT

import PulseCore

/// Counts of events by kind.
struct EventCounts: Sendable {
    // The four events of every call have a field each: a dictionary lookup would dominate the cost of counting.
    private var started = 0
    private var attempts = 0
    private var responses = 0
    private var completed = 0
    private var others: [NetworkEvent.Kind: Int] = [:]

    mutating func add(_ kind: NetworkEvent.Kind) {
        switch kind {
        case .requestStarted: started += 1
        case .attemptStarted: attempts += 1
        case .responseReceived: responses += 1
        case .requestCompleted: completed += 1
        default: others[kind, default: 0] += 1
        }
    }

    /// The counts of the kinds that occurred.
    var dictionary: [NetworkEvent.Kind: Int] {
        others.merging(
            [
                .requestStarted: started, .attemptStarted: attempts, .responseReceived: responses,
                .requestCompleted: completed,
            ].filter { $0.value > 0 }, uniquingKeysWith: +)
    }
}
