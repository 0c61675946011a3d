// SPDX-License-Identifier: MIT

import PulseCore

/// A value that can be added up.
protocol Mergeable: Sendable {
    init()
    mutating func merge(_ other: Self)
}

extension MetricsSnapshot.Calls: Mergeable {}
extension MetricsSnapshot.Objective.Counts: Mergeable {}

/// A sum over all time and over the last minutes. Recent events are in slices of ten seconds, older ones in one value,
/// so that each event is counted once.
struct TimeSlices<Value: Mergeable>: Sendable {
    private struct Slice: Sendable {
        let tick: Int
        var value = Value()
    }

    /// The non-empty slices in order of time; the first contains everything older. A single array, so that a copy is
    /// one reference: a snapshot copies each series.
    private var slices: [Slice] = []

    /// Changes the value of this tick's slice. A tick before the last one counts as the last.
    mutating func update(at tick: Int, _ body: (inout Value) -> Void) {
        // By index: `last` would copy a slice of some hundred bytes for its tick.
        if slices.isEmpty || slices[slices.count - 1].tick < tick { begin(tick) }
        body(&slices[slices.count - 1].value)
    }

    private mutating func begin(_ tick: Int) {
        if slices.isEmpty { slices.append(Slice(tick: .min)) }
        let end = slices.dropFirst().firstIndex { $0.tick > tick - SliceClock.slicesInFiveMinutes } ?? slices.count
        for slice in slices[1..<end] { slices[0].value.merge(slice.value) }
        slices.removeSubrange(1..<end)
        slices.append(Slice(tick: tick))
    }

    /// Adds up the slices, each once.
    func sums(at tick: Int) -> (overall: Value, lastMinute: Value, lastFiveMinutes: Value) {
        var (older, fiveMinutes, minute) = (Value(), Value(), Value())
        for slice in slices {
            if slice.tick > tick - SliceClock.slicesInAMinute {
                minute.merge(slice.value)
            } else if slice.tick > tick - SliceClock.slicesInFiveMinutes {
                fiveMinutes.merge(slice.value)
            } else {
                older.merge(slice.value)
            }
        }
        fiveMinutes.merge(minute)
        older.merge(fiveMinutes)
        return (older, minute, fiveMinutes)
    }
}

/// Divides time into slices.
enum SliceClock {
    static let seconds: TimeInterval = 10
    /// The current slice, and those before it that cover the whole span.
    static let slicesInAMinute = 7
    static let slicesInFiveMinutes = 31

    /// The slice of a moment; 0 for a clock that returns NaN or a time out of range.
    static func tick(at uptime: TimeInterval) -> Int {
        let slices = (uptime / seconds).rounded(.down)
        return slices.magnitude < 1e15 ? Int(exactly: slices) ?? 0 : 0
    }
}
