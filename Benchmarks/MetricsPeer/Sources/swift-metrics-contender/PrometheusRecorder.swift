// SPDX-License-Identifier: MIT

import CoreMetrics
import Foundation

/// A typical recorder: a dictionary of counters and histograms by name and labels, with a lock around each.
final class PrometheusRecorder: MetricsFactory, @unchecked Sendable {
    private struct Key: Hashable {
        let name: String
        let labels: [String]
    }

    // Unchecked: accessed only under the lock.
    private var counters: [Key: CounterCell] = [:]
    private var histograms: [Key: HistogramCell] = [:]
    private let lock = NSLock()

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        lock.withLock { Self.cell(&counters, label, dimensions, CounterCell()) }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        lock.withLock { Self.cell(&histograms, label, dimensions, HistogramCell()) }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        lock.withLock { Self.cell(&histograms, label, dimensions, HistogramCell()) }
    }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}

    private static func cell<Cell>(
        _ cells: inout [Key: Cell], _ label: String, _ dimensions: [(String, String)], _ new: @autoclosure () -> Cell
    ) -> Cell {
        let key = Key(name: label, labels: dimensions.flatMap { [$0.0, $0.1] })
        if let cell = cells[key] { return cell }
        let cell = new()
        cells[key] = cell
        return cell
    }
}

private final class CounterCell: CounterHandler, @unchecked Sendable {
    // Unchecked: accessed only under the lock.
    private var count: Int64 = 0
    private let lock = NSLock()

    func increment(by amount: Int64) { lock.withLock { count += amount } }
    func reset() { lock.withLock { count = 0 } }
}

private final class HistogramCell: TimerHandler, RecorderHandler, @unchecked Sendable {
    private static let bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    // Unchecked: accessed only under the lock.
    private var counts = [Int](repeating: 0, count: bounds.count + 1)
    private var sum = 0.0
    private let lock = NSLock()

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        lock.withLock {
            counts[Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count] += 1
            sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
