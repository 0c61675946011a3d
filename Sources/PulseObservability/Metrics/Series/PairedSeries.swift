// SPDX-License-Identifier: MIT

/// Counts by route and by host. Each pair of the two has one series, so that an event is counted once: a route usually
/// has one host. A snapshot adds up the pairs of each route and host.
///
/// The number of pairs is bounded by the sum of the maximum numbers of routes and hosts. Calls of further pairs are
/// counted twice, once for their route and once for their host.
struct PairedSeries: Sendable {
    /// The slot where a call is counted.
    struct Slot: Sendable {
        fileprivate var series: Int32
        /// The series of the host, if the first one is of the route alone; otherwise -1.
        fileprivate var second: Int32 = -1
    }

    private struct Pair: Hashable, Sendable {
        /// The index of the name; -1 if the series does not distinguish it.
        let route: Int
        let host: Int
    }

    private struct Entry: Sendable {
        let pair: Pair
        var series = MetricsSeries()
    }

    private let maxPairs: Int
    private var routes: BoundedSlots
    private var hosts: BoundedSlots
    private var entries: [Entry] = []
    private var slots: [Pair: Int] = [:]
    private var pairCount = 0
    /// The last lookup, which is usually repeated.
    private var last: (pair: Pair, slot: Slot)?

    /// - Parameter maxRoutes: the number of routes that are counted by name; further ones share one. A negative
    ///   number counts as 0, here and for hosts.
    init(maxRoutes: Int, maxHosts: Int) {
        routes = BoundedSlots(maximum: maxRoutes)
        hosts = BoundedSlots(maximum: maxHosts)
        let (sum, overflows) = max(0, maxRoutes).addingReportingOverflow(max(0, maxHosts))
        maxPairs = overflows ? .max : max(1, sum)
    }

    /// The slot of a route and host, which stays the same until a reset.
    mutating func slot(route: String, host: String) -> Slot {
        let pair = Pair(route: routes.slot(of: route), host: hosts.slot(of: host))
        if let last, last.pair == pair { return last.slot }
        let slot = lookUp(pair)
        last = (pair, slot)
        return slot
    }

    private mutating func lookUp(_ pair: Pair) -> Slot {
        if let known = slots[pair] { return Slot(series: Int32(known)) }
        if pairCount < maxPairs {
            pairCount += 1
            return Slot(series: Int32(series(of: pair)))
        }
        return Slot(
            series: Int32(series(of: Pair(route: pair.route, host: -1))),
            second: Int32(series(of: Pair(route: -1, host: pair.host))))
    }

    private mutating func series(of pair: Pair) -> Int {
        if let known = slots[pair] { return known }
        entries.append(Entry(pair: pair))
        slots[pair] = entries.count - 1
        return entries.count - 1
    }

    mutating func update(_ slot: Slot, at tick: Int, _ body: (inout MetricsSnapshot.Calls) -> Void) {
        entries[Int(slot.series)].series.update(at: tick, body)
        if slot.second >= 0 { entries[Int(slot.second)].series.update(at: tick, body) }
    }

    mutating func changeInFlight(_ slot: Slot, by change: Int) {
        entries[Int(slot.series)].series.inFlight += change
        if slot.second >= 0 { entries[Int(slot.second)].series.inFlight += change }
    }

    /// Clears all counts. Series with calls in flight stay. Returns a map from old to new slots of such calls.
    mutating func reset() -> (Slot) -> Slot {
        let old = entries.enumerated().filter { $0.element.series.inFlight > 0 }
        let routeSlots = routes.reset(keeping: Set(old.map(\.element.pair.route)))
        let hostSlots = hosts.reset(keeping: Set(old.map(\.element.pair.host)))
        (entries, slots, pairCount, last) = ([], [:], 0, nil)
        var moved: [Int32: Int32] = [:]
        for (index, entry) in old {
            let pair = Pair(route: routeSlots[entry.pair.route] ?? -1, host: hostSlots[entry.pair.host] ?? -1)
            if pair.route >= 0, pair.host >= 0 { pairCount += 1 }
            let new = series(of: pair)
            entries[new].series.inFlight = entry.series.inFlight
            moved[Int32(index)] = Int32(new)
        }
        return { [moved] slot in
            Slot(series: moved[slot.series] ?? 0, second: moved[slot.second] ?? -1)
        }
    }

    mutating func forgetInFlight() {
        for index in entries.indices { entries[index].series.inFlight = 0 }
    }

    /// The non-empty series, by route and by host.
    func summaries(at tick: Int) -> (routes: [String: MetricsSnapshot.Series], hosts: [String: MetricsSnapshot.Series])
    {
        var (byRoute, byHost): ([Int: MetricsSnapshot.Series], [Int: MetricsSnapshot.Series]) = ([:], [:])
        for entry in entries {
            let summary = entry.series.summary(at: tick)
            if summary.isEmpty { continue }
            if entry.pair.route >= 0 { byRoute[entry.pair.route, default: .zero].merge(summary) }
            if entry.pair.host >= 0 { byHost[entry.pair.host, default: .zero].merge(summary) }
        }
        return (
            Dictionary(uniqueKeysWithValues: byRoute.map { (routes.names[$0.key], $0.value) }),
            Dictionary(uniqueKeysWithValues: byHost.map { (hosts.names[$0.key], $0.value) })
        )
    }
}
