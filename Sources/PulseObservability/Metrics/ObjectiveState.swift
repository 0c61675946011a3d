// SPDX-License-Identifier: MIT

import PulseCore

/// Counts of good and valid calls for each objective.
struct ObjectiveState: Sendable {
    private struct Entry: Sendable {
        let objective: ServiceLevelObjective
        var counts = TimeSlices<MetricsSnapshot.Objective.Counts>()
    }

    private var entries: [Entry]

    init(_ objectives: [ServiceLevelObjective]) {
        var names: Set<String> = []
        entries = objectives.filter { names.insert(SeriesName.shown($0.name)).inserted }.map { Entry(objective: $0) }
    }

    mutating func count(
        _ result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>, route: String, latency: TimeInterval,
        at tick: Int
    ) {
        for index in entries.indices {
            let objective = entries[index].objective
            if let only = objective.route, only != route { continue }
            guard let isGood = objective.verdict(on: result, latency: latency) else { continue }
            entries[index].counts.update(at: tick) { counts in
                counts.valid += 1
                if isGood { counts.good += 1 }
            }
        }
    }

    mutating func reset() {
        entries = entries.map { Entry(objective: $0.objective) }
    }

    func metrics(at tick: Int) -> [MetricsSnapshot.Objective] {
        entries.map { entry in
            let sums = entry.counts.sums(at: tick)
            return MetricsSnapshot.Objective(
                objective: entry.objective, overall: sums.overall, lastMinute: sums.lastMinute,
                lastFiveMinutes: sums.lastFiveMinutes)
        }
    }
}
