// SPDX-License-Identifier: MIT

import PulseCore

/// The trace of a call that has not ended. Times are in seconds from its start.
struct OpenTrace: Sendable {
    private static let maxEntries = 50

    private let start: Date
    private let startUptime: TimeInterval
    private var attempts: [CallTrace.Attempt] = []
    /// The indexes of the running attempts in `attempts`.
    private var running: [Int] = []
    private var marks: [CallTrace.Mark] = []
    private var omittedCount = 0

    init(start: Date, uptime: TimeInterval) {
        self.start = start
        startUptime = uptime
    }

    mutating func apply(_ event: NetworkEvent, at uptime: TimeInterval) {
        let time = elapsed(at: uptime)
        switch event {
        case .attemptStarted(let call): begin(call, at: time)
        case .responseReceived(let call, let status, let byteCount):
            let spanID = call.spanID
            let index = running.first {
                attempts[$0].number == call.attempt && (spanID == nil || attempts[$0].spanID == spanID)
            }
            guard let index else { return }
            attempts[index].statusCode = status
            attempts[index].byteCount = byteCount
            close(index, at: time, nil)
        case .requestRetrying(_, let error, let next):
            for index in running where attempts[index].number < next { close(index, at: time, error) }
            mark(event, at: time)
        default: mark(event, at: time)
        }
    }

    /// The complete trace of a call that has ended.
    func closed(
        _ call: NetworkEvent.CallSummary, _ result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>,
        at uptime: TimeInterval
    ) -> CallTrace {
        var copy = self
        let end = elapsed(at: uptime)
        var error: PulseError.Summary?
        if case .failure(let failure) = result { error = failure }
        for index in running { copy.close(index, at: end, error) }
        copy.addPhases(of: result)
        return CallTrace(
            id: call.id, method: call.method, host: EventText.shown(call.host),
            endpointPath: EventText.shown(call.endpointPath), route: SeriesName.shown(call.route),
            traceID: call.traceID.flatMap(SpanIdentifier.validTrace) ?? SpanIdentifier.trace(of: call.id),
            spanID: SpanIdentifier.span(of: call.id, 0),
            parentSpanID: call.parentSpanID.flatMap(SpanIdentifier.validSpan),
            start: start, duration: end, result: result, attempts: copy.attempts, marks: marks,
            omittedCount: omittedCount)
    }

    /// The time since the start. A clock that runs backwards or returns NaN does not make it negative.
    private func elapsed(at uptime: TimeInterval) -> TimeInterval {
        let elapsed = uptime - startUptime
        return elapsed > 0 && elapsed.isFinite ? elapsed : 0
    }

    private mutating func begin(_ call: NetworkEvent.CallSummary, at time: TimeInterval) {
        guard attempts.count < Self.maxEntries else { return omittedCount += 1 }
        running.append(attempts.count)
        attempts.append(
            CallTrace.Attempt(
                number: call.attempt, method: call.method, host: EventText.shown(call.host),
                spanID: call.spanID.flatMap(SpanIdentifier.validSpan)
                    ?? SpanIdentifier.span(of: call.id, attempts.count + 1),
                start: time, duration: 0, statusCode: nil, byteCount: 0, error: nil, phases: []))
    }

    private mutating func close(_ index: Int, at time: TimeInterval, _ error: PulseError.Summary?) {
        running.removeAll { $0 == index }
        attempts[index].duration = max(0, time - attempts[index].start)
        attempts[index].error = error
    }

    private mutating func addPhases(of result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>) {
        // A cached response has the timings of the exchange that filled the cache.
        guard case .success(let response) = result, let timings = response.timings,
            response.origin == .network || response.origin == .revalidated,
            let index = attempts.lastIndex(where: { $0.statusCode != nil })
        else { return }
        attempts[index].phases = timings.phases
    }

    private mutating func mark(_ event: NetworkEvent, at time: TimeInterval) {
        guard let text = EventText.mark(event) else { return }
        guard marks.count < Self.maxEntries else { return omittedCount += 1 }
        marks.append(CallTrace.Mark(time: time, kind: event.kind, text: text))
    }
}
