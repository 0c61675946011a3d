// SPDX-License-Identifier: MIT

import Contending

/// The messages that are sent back and forth.
struct EchoWork {
    let name: String
    let size: Int
    /// The messages in flight.
    let window: Int
    /// The blocks that PulseKit may allocate for one message, sent and received.
    let maxAllocations: Double
    /// PulseKit's rate, at least, as a multiple of another client's.
    let limits: [(client: String, rate: Double)]

    static let all = [
        EchoWork(
            name: "1 KB, one at a time", size: 1024, window: 1, maxAllocations: 32,
            limits: [(Lineup.handler, 0.8), (Lineup.channel, 0.8), (Lineup.websockets, 3)]),
        EchoWork(
            name: "1 MiB, one at a time", size: 1 << 20, window: 1, maxAllocations: 200,
            limits: [(Lineup.handler, 0.8), (Lineup.channel, 0.8), (Lineup.websockets, 3)]),
        // A handler replies to all that one read brings in one write. PulseKit's `send` returns after its own.
        EchoWork(
            name: "1 KB, 64 at a time", size: 1024, window: 64, maxAllocations: 32,
            limits: [(Lineup.channel, 0.8), (Lineup.websockets, 1)]),
    ]
}

/// The cost of one contender's messages.
struct EchoResult {
    let name: String
    /// Microseconds of wall time and of processor time for a message, in the median round.
    let median: Double
    let processor: Double
    /// Microseconds of wall time in the best round.
    let best: Double

    init(_ name: String, _ figures: [Figure]) {
        self.name = name
        let times = figures.map { $0.seconds * 1e6 / Double($0.count) }.sorted()
        let processorTimes = figures.map { $0.processorSeconds * 1e6 / Double($0.count) }.sorted()
        (best, median) = (times[0], times[times.count / 2])
        processor = processorTimes[processorTimes.count / 2]
    }
}
