// SPDX-License-Identifier: MIT

/// Counts by route and by host, each event once: each pair of the two has a series, since a route usually has one host.
/// What a snapshot shows of either is a sum.
///
/// Pairs are bounded as well, by the routes and hosts that may have names. What belongs to a further one is counted
/// twice, for its route and for its host.
struct PairedSeries: Sendable {
    /// The place where a call is counted.
    struct Place: Sendable {
        fileprivate var series: Int32
        /// The series of the host, if the first is of the route alone; else -1.
        fileprivate var second: Int32 = -1
    }

    private struct Pair: Hashable, Sendable {
        /// The index; -1 if it is not counted by that.
        let route: Int
        let host: Int
    }

    private struct Entry: Sendable {
        let pair: Pair
        var series = MetricsSeries()
    }

    private let maximumPairs: Int
    private var routes: BoundedSlots
    private var hosts: BoundedSlots
    private var entries: [Entry] = []
    private var places: [Pair: Int] = [:]
    private var pairCount = 0
    /// The last place, which is usually asked for again.
    private var last: (pair: Pair, place: Place)?

    /// - Parameter maximumRoutes: with a name, besides those that share one; negative ones count as 0, here and for
    ///   hosts.
    init(maximumRoutes: Int, maximumHosts: Int) {
        routes = BoundedSlots(maximum: maximumRoutes)
        hosts = BoundedSlots(maximum: maximumHosts)
        let (sum, overflows) = max(0, maximumRoutes).addingReportingOverflow(max(0, maximumHosts))
        maximumPairs = overflows ? .max : max(1, sum)
    }

    /// Stays the same until a reset.
    mutating func place(route: String, host: String) -> Place {
        let pair = Pair(route: routes.place(of: route), host: hosts.place(of: host))
        if let last, last.pair == pair { return last.place }
        let place = lookedUp(pair)
        last = (pair, place)
        return place
    }

    private mutating func lookedUp(_ pair: Pair) -> Place {
        if let known = places[pair] { return Place(series: Int32(known)) }
        if pairCount < maximumPairs {
            pairCount += 1
            return Place(series: Int32(series(of: pair)))
        }
        return Place(
            series: Int32(series(of: Pair(route: pair.route, host: -1))),
            second: Int32(series(of: Pair(route: -1, host: pair.host))))
    }

    private mutating func series(of pair: Pair) -> Int {
        if let known = places[pair] { return known }
        entries.append(Entry(pair: pair))
        places[pair] = entries.count - 1
        return entries.count - 1
    }

    mutating func update(_ place: Place, at tick: Int, _ body: (inout CallMetrics) -> Void) {
        entries[Int(place.series)].series.update(at: tick, body)
        if place.second >= 0 { entries[Int(place.second)].series.update(at: tick, body) }
    }

    mutating func changeInFlight(_ place: Place, by change: Int) {
        entries[Int(place.series)].series.inFlight += change
        if place.second >= 0 { entries[Int(place.second)].series.inFlight += change }
    }

    /// Forgets all counts. Series with calls in flight stay; gives what a place of such a call becomes.
    mutating func reset() -> (Place) -> Place {
        let old = entries.enumerated().filter { $0.element.series.inFlight > 0 }
        let routePlaces = routes.reset(keeping: Set(old.map(\.element.pair.route)))
        let hostPlaces = hosts.reset(keeping: Set(old.map(\.element.pair.host)))
        (entries, places, pairCount, last) = ([], [:], 0, nil)
        var moved: [Int32: Int32] = [:]
        for (place, entry) in old {
            let pair = Pair(route: routePlaces[entry.pair.route] ?? -1, host: hostPlaces[entry.pair.host] ?? -1)
            if pair.route >= 0, pair.host >= 0 { pairCount += 1 }
            let new = series(of: pair)
            entries[new].series.inFlight = entry.series.inFlight
            moved[Int32(place)] = Int32(new)
        }
        return { [moved] place in
            Place(series: moved[place.series] ?? 0, second: moved[place.second] ?? -1)
        }
    }

    mutating func forgetInFlight() {
        for place in entries.indices { entries[place].series.inFlight = 0 }
    }

    /// The series in which something was counted, by route and by host.
    func summaries(at tick: Int) -> (routes: [String: SeriesMetrics], hosts: [String: SeriesMetrics]) {
        var (byRoute, byHost): ([Int: SeriesMetrics], [Int: SeriesMetrics]) = ([:], [:])
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
