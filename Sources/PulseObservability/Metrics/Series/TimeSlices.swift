// SPDX-License-Identifier: MIT

import PulseCore

/// A value that can be added up.
protocol Mergeable: Sendable {
    init()
    mutating func merge(_ other: Self)
}

extension CallMetrics: Mergeable {}
extension ObjectiveCounts: Mergeable {}

/// A sum over all time and over its last minutes: what happened lately is kept in slices of ten seconds, what is older
/// in one value, so that each event is counted once.
struct TimeSlices<Value: Mergeable>: Sendable {
    private struct Slice: Sendable {
        let tick: Int
        var value = Value()
    }

    /// The slices in order of time, without empty ones; the first holds all that is older. One array, so that a copy is
    /// one reference: a snapshot copies each series.
    private var slices: [Slice] = []

    /// Changes the value of the slice that this tick is in. A tick before the last one counts as the last.
    mutating func update(at tick: Int, _ body: (inout Value) -> Void) {
        // By index: `last` would copy a slice, some hundred bytes, for its tick.
        if slices.isEmpty || slices[slices.count - 1].tick < tick { begin(tick) }
        body(&slices[slices.count - 1].value)
    }

    // Not inlined: once in ten seconds, and its temporaries would take room in the frame of each event.
    @inline(never)
    private mutating func begin(_ tick: Int) {
        if slices.isEmpty { slices.append(Slice(tick: .min)) }
        let end = slices.dropFirst().firstIndex { $0.tick > tick - SliceClock.slicesInFiveMinutes } ?? slices.count
        for slice in slices[1..<end] { slices[0].value.merge(slice.value) }
        slices.removeSubrange(1..<end)
        slices.append(Slice(tick: tick))
    }

    /// Each slice is added once.
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

/// Counts time in slices.
enum SliceClock {
    static let seconds: TimeInterval = 10
    /// The slice that has begun, and those before it that make up the whole span.
    static let slicesInAMinute = 7
    static let slicesInFiveMinutes = 31

    /// The slice that a moment is in; 0 for a clock that gives NaN or a time out of range.
    static func tick(at uptime: TimeInterval) -> Int {
        let slices = (uptime / seconds).rounded(.down)
        return slices.magnitude < 1e15 ? Int(exactly: slices) ?? 0 : 0
    }
}
