// SPDX-License-Identifier: MIT

import PulseCore

/// All that a collector counts: a value that takes events and the time, and knows neither clock nor lock.
///
/// A call is counted where it began: its route and host are looked up once, and by its id from then on.
struct MetricsState: Sendable {
    /// The counts that a snapshot is made of, without the calls in flight, of which there may be many: counting during
    /// a snapshot copies what is shared.
    struct Counts: Sendable {
        fileprivate(set) var series: PairedSeries
        fileprivate(set) var objectives: ObjectiveState
        fileprivate(set) var circuits: [String: CircuitMetrics] = [:]
        fileprivate(set) var connectivity: ConnectivityStatus?
        fileprivate(set) var offlineDelivered = 0
        fileprivate(set) var offlineFailed = 0
        fileprivate(set) var events = EventCounts()
    }

    /// The bound of calls in flight: as many would be a leak anyway, and each costs some 60 bytes.
    private static let maximumInFlight = 100_000
    static let maximumCircuits = 200

    private(set) var counts: Counts
    private var inFlight = CallTable<PairedSeries.Place>()

    init(maximumRoutes: Int, maximumHosts: Int, objectives: [ServiceLevelObjective]) {
        counts = Counts(
            series: PairedSeries(maximumRoutes: maximumRoutes, maximumHosts: maximumHosts),
            objectives: ObjectiveState(objectives))
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
            applyRarer(event, at: tick)
        }
    }

    private mutating func applyRarer(_ event: NetworkEvent, at tick: Int) {
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
        case .connectivityChanged(let status): counts.connectivity = status
        default: break
        }
    }

    // MARK: Calls

    private mutating func begin(_ call: CallSummary) {
        guard inFlight.count < Self.maximumInFlight else { return }
        let place = counts.series.place(route: call.route, host: call.host)
        if let known = inFlight.insert(place, for: call.rootID) { counts.series.changeInFlight(known, by: -1) }
        counts.series.changeInFlight(place, by: 1)
    }

    private mutating func end(
        _ call: CallSummary, _ result: Result<ResponseSummary, ErrorSummary>, _ latency: TimeInterval, at tick: Int
    ) {
        counts.objectives.count(result, route: call.route, latency: latency, at: tick)
        let known = inFlight.remove(call.rootID)
        if let known { counts.series.changeInFlight(known, by: -1) }
        let place = known ?? counts.series.place(route: call.route, host: call.host)
        counts.series.update(place, at: tick) { $0.end(result, latency) }
    }

    /// Counts for a call where it began, also what plugins do apart from it.
    private mutating func count(_ call: CallSummary, at tick: Int, _ body: (inout CallMetrics) -> Void) {
        let place = inFlight[call.rootID] ?? counts.series.place(route: call.route, host: call.host)
        counts.series.update(place, at: tick, body)
    }

    private mutating func changeCircuit(_ name: String, _ body: (inout CircuitMetrics) -> Void) {
        let name = SeriesName.shown(name)
        guard counts.circuits[name] != nil || counts.circuits.count < Self.maximumCircuits else { return }
        body(&counts.circuits[name, default: CircuitMetrics()])
    }

    // MARK: Beginning again

    /// Forgets all counts. What is a state and no count stays: calls in flight, circuits, connectivity.
    mutating func reset() {
        let newPlace = counts.series.reset()
        inFlight.updateAll { $0 = newPlace($0) }
        counts.objectives.reset()
        counts.circuits = counts.circuits.mapValues { CircuitMetrics(state: $0.state) }
        counts.events = EventCounts()
        (counts.offlineDelivered, counts.offlineFailed) = (0, 0)
    }

    /// Forgets the calls in flight, for a collector that will not hear how they end.
    mutating func forgetInFlight() {
        inFlight.removeAll()
        counts.series.forgetInFlight()
    }
}

extension NetworkEvent {
    /// Whether a ledger counts it in a slice of time: reading a clock for the others would be for nothing.
    var isCountedByTime: Bool {
        switch self {
        case .attemptStarted, .responseReceived, .requestCompleted, .requestRedirected, .requestRetrying, .retryGivenUp,
            .rateLimited, .cacheHit, .cacheMiss, .cacheRevalidated:
            true
        default: false
        }
    }
}

extension CallMetrics {
    fileprivate mutating func end(_ result: Result<ResponseSummary, ErrorSummary>, _ seconds: TimeInterval) {
        switch result {
        case .success(let response):
            succeeded += 1
            latency.record(seconds)
            bytesDelivered = bytesDelivered.addingClamped(Int64(response.byteCount))
            // An answer of the cache has the timings of the exchange that filled it.
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
