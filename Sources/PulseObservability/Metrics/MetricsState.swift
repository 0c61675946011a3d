// SPDX-License-Identifier: MIT

import PulseCore

/// All counts of a collector. A value that receives events and the time, without a clock or a lock.
///
/// A call is counted under its initial route and host: they are looked up once, later events use the call's id.
struct MetricsState: Sendable {
    /// The counts for a snapshot. They exclude the table of calls in flight, which may be large: counting during a
    /// snapshot copies shared storage.
    struct Counts: Sendable {
        fileprivate(set) var series: PairedSeries
        fileprivate(set) var objectives: ObjectiveState
        fileprivate(set) var sockets: SocketCounts
        fileprivate(set) var circuits: [String: MetricsSnapshot.Circuit] = [:]
        fileprivate(set) var connectivity: ConnectivityStatus?
        fileprivate(set) var offlineDelivered = 0
        fileprivate(set) var offlineFailed = 0
        fileprivate(set) var events = EventCounts()
    }

    /// The maximum number of tracked calls in flight: more would be a leak anyway, and each costs some 60 bytes.
    private static let maxInFlight = 100_000
    static let maxCircuits = 200

    private(set) var counts: Counts
    private var inFlight = CallTable<PairedSeries.Slot>()
    private var sockets = SocketTable()

    init(maxRoutes: Int, maxHosts: Int, objectives: [ServiceLevelObjective]) {
        counts = Counts(
            series: PairedSeries(maxRoutes: maxRoutes, maxHosts: maxHosts),
            objectives: ObjectiveState(objectives), sockets: SocketCounts(maxHosts: maxHosts))
    }

    /// - Parameter tick: used only by events that are ``NetworkEvent/isCountedByTime``.
    mutating func apply(_ event: NetworkEvent, at tick: Int) {
        switch event {
        case .requestStarted(let call):
            counts.events.add(.requestStarted)
            begin(call)
        case .requestCompleted(let result, let call, let latency):
            counts.events.add(.requestCompleted)
            end(call, result, latency, at: tick)
        case .attemptStarted(let call):
            counts.events.add(.attemptStarted)
            count(call, at: tick) { $0.attempts += 1 }
        case .responseReceived(let call, let status, let byteCount):
            counts.events.add(.responseReceived)
            count(call, at: tick) { metrics in
                metrics.statusTally.add((100..<600).contains(status) ? status : 0)
                metrics.bytesReceived = metrics.bytesReceived.addingClamped(Int64(byteCount))
            }
        default:
            counts.events.add(event.kind)
            applyLessFrequent(event, at: tick)
        }
    }

    private mutating func applyLessFrequent(_ event: NetworkEvent, at tick: Int) {
        switch event {
        case .requestRedirected(let call, _): count(call, at: tick) { $0.redirects += 1 }
        case .requestRetrying(let call, _, _): count(call, at: tick) { $0.retries += 1 }
        case .retryGivenUp(let call, _): count(call, at: tick) { $0.retriesGivenUp += 1 }
        case .rateLimited(let call, _): count(call, at: tick) { $0.rateLimited += 1 }
        case .cacheHit(let call): count(call, at: tick) { $0.cacheHits += 1 }
        case .cacheMiss(let call): count(call, at: tick) { $0.cacheMisses += 1 }
        case .cacheRevalidated(let call): count(call, at: tick) { $0.cacheRevalidations += 1 }
        case .circuitBreakerOpened(let name):
            changeCircuit(name) { circuit in
                if circuit.state != .open { circuit.openings += 1 }
                circuit.state = .open
            }
        case .circuitBreakerHalfOpened(let name): changeCircuit(name) { $0.state = .halfOpen }
        case .circuitBreakerClosed(let name): changeCircuit(name) { $0.state = .closed }
        case .offlineQueueRequestCompleted(_, let success):
            if success { counts.offlineDelivered += 1 } else { counts.offlineFailed += 1 }
        case .offlineQueueExpired: counts.offlineFailed += 1
        case .socketStateChanged(let call, let state): sockets.apply(state, of: call, to: &counts.sockets)
        case .socketDisconnected(let call, let end): sockets.apply(end, of: call, to: &counts.sockets)
        case .connectivityChanged(let status): counts.connectivity = status
        default: break
        }
    }

    // MARK: Calls

    private mutating func begin(_ call: NetworkEvent.CallSummary) {
        guard inFlight.count < Self.maxInFlight else { return }
        let slot = counts.series.slot(route: call.route, host: call.host)
        if let known = inFlight.insert(slot, for: call.rootID) { counts.series.changeInFlight(known, by: -1) }
        counts.series.changeInFlight(slot, by: 1)
    }

    private mutating func end(
        _ call: NetworkEvent.CallSummary, _ result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>,
        _ latency: TimeInterval,
        at tick: Int
    ) {
        counts.objectives.count(result, route: call.route, latency: latency, at: tick)
        let known = inFlight.remove(call.rootID)
        if let known { counts.series.changeInFlight(known, by: -1) }
        let slot = known ?? counts.series.slot(route: call.route, host: call.host)
        counts.series.update(slot, at: tick) { $0.end(result, latency) }
    }

    /// Counts for a call under its initial route and host, including separate requests of its plugins.
    private mutating func count(
        _ call: NetworkEvent.CallSummary, at tick: Int, _ body: (inout MetricsSnapshot.Calls) -> Void
    ) {
        let slot = inFlight[call.rootID] ?? counts.series.slot(route: call.route, host: call.host)
        counts.series.update(slot, at: tick, body)
    }

    private mutating func changeCircuit(_ name: String, _ body: (inout MetricsSnapshot.Circuit) -> Void) {
        let name = SeriesName.shown(name)
        guard counts.circuits[name] != nil || counts.circuits.count < Self.maxCircuits else { return }
        body(&counts.circuits[name, default: MetricsSnapshot.Circuit()])
    }

    // MARK: Resetting

    /// Clears all counts. States stay: calls in flight, open sockets, circuits, connectivity.
    mutating func reset() {
        let newSlot = counts.series.reset()
        inFlight.updateAll { $0 = newSlot($0) }
        counts.objectives.reset()
        counts.sockets.reset()
        counts.circuits = counts.circuits.mapValues { MetricsSnapshot.Circuit(state: $0.state) }
        counts.events = EventCounts()
        (counts.offlineDelivered, counts.offlineFailed) = (0, 0)
    }

    /// Discards the calls in flight and the open sockets, for a collector that will not receive their ends.
    mutating func forgetInFlight() {
        inFlight.removeAll()
        counts.series.forgetInFlight()
        sockets.removeAll()
        counts.sockets.forgetOpen()
    }
}

extension NetworkEvent {
    /// Whether the event is counted in a slice of time. The others do not need the cost of reading a clock.
    var isCountedByTime: Bool {
        switch self {
        case .attemptStarted, .responseReceived, .requestCompleted, .requestRedirected, .requestRetrying, .retryGivenUp,
            .rateLimited, .cacheHit, .cacheMiss, .cacheRevalidated:
            true
        default: false
        }
    }
}

extension MetricsSnapshot.Calls {
    fileprivate mutating func end(
        _ result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>, _ seconds: TimeInterval
    ) {
        switch result {
        case .success(let response):
            succeeded += 1
            latency.record(seconds)
            bytesDelivered = bytesDelivered.addingClamped(Int64(response.byteCount))
            // A cached response has the timings of the exchange that filled the cache.
            if response.origin == .network || response.origin == .revalidated, let timings = response.timings {
                phases.add(timings)
            }
        case .failure(let error):
            switch error.kind {
            case .cancelled: cancelled += 1
            case .queuedOffline: queuedOffline += 1
            default:
                failed += 1
                failureTally.add(error.kind)
                latency.record(seconds)
            }
        }
    }
}
