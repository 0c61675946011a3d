// SPDX-License-Identifier: MIT

import PulseCore

extension PulseRecorder {
    /// Records all later calls of the clients that use this bus, and the events that belong to no call.
    ///
    /// The bus does not retain the recorder. Attaching again changes nothing. A client's bus is
    /// ``PulseEventBus/shared`` by default, so the calls of other clients may be recorded too: without headers and
    /// bodies.
    public func attach(to bus: PulseEventBus) {
        let sink = RecorderSink { [weak self] in self }
        let isNew = attachments.withLock { attachments in
            guard !attachments.contains(where: { $0.bus === bus }) else { return false }
            attachments.append(Attachment(bus: bus, sink: sink))
            return true
        }
        if isNew { bus.addSink(sink) }
    }

    /// Detaches from every bus. The recording stays.
    public func detach() {
        let attachments = attachments.withLock { attachments in
            defer { attachments = [] }
            return attachments
        }
        for attachment in attachments { attachment.bus.removeSink(attachment.sink) }
    }

    /// The text masked, on one line and of bounded length.
    func shown(_ text: String) -> String {
        LogExcerpt(redaction, limit: 4096).text(text)
    }

    func take(_ event: NetworkEvent) {
        let uptime = clock.uptime
        switch event {
        case .requestStarted(let call): begin(call, at: uptime)
        case .requestCompleted(let result, let call, let latency):
            let outcome = result.mapError { error in
                PulseError.Summary(kind: error.kind, statusCode: error.statusCode, message: shown(error.message))
            }
            change { $0.end(call.id, latency: latency, outcome: outcome, traceID: call.traceID) }
        case .requestRetrying(let call, let error, _):
            mark(call, .retrying, uptime, wait: call.retryDelay, detail: error.message)
        case .retryGivenUp(let call, let error): mark(call, .retryGivenUp, uptime, detail: error.message)
        case .requestRedirected(let call, let status): mark(call, .redirected, uptime, detail: "\(status)")
        case .rateLimited(let call, let wait): mark(call, .rateLimited, uptime, wait: wait)
        case .authRefreshStarted(let call): mark(call, .authRefreshStarted, uptime)
        case .authRefreshSucceeded(let call): mark(call, .authRefreshSucceeded, uptime)
        case .authRefreshFailed(let call, let error): mark(call, .authRefreshFailed, uptime, detail: error.message)
        case .sessionExpired(let call): mark(call, .sessionExpired, uptime)
        case .cacheHit(let call): mark(call, .cacheHit, uptime)
        case .cacheMiss(let call): mark(call, .cacheMiss, uptime)
        case .cacheRevalidated(let call): mark(call, .cacheRevalidated, uptime)
        case .cacheStored(let call): mark(call, .cacheStored, uptime)
        // The handshake that follows is a separate call.
        case .socketStateChanged(_, .connecting): break
        case .socketStateChanged(let call, let state):
            mark(call, .socketStateChanged, uptime, wait: state.delay, detail: "\(state)")
        case .socketDisconnected(let call, let end):
            mark(
                call, .socketDisconnected, uptime,
                detail: "\(end)" + (end.reason.isEmpty ? "" : "; reason: \(end.reason)"))
        default: note(event)
        }
    }

    private func begin(_ summary: NetworkEvent.CallSummary, at uptime: TimeInterval) {
        let call = PulseRecording.Call(
            id: summary.id, endpointPath: shown(summary.endpointPath), route: shown(summary.route),
            method: summary.method, host: summary.host, startedAt: clock.now, traceID: summary.traceID,
            isInVirtualTime: summary.isInVirtualTime)
        change { $0.begin(call, id: summary.id, at: uptime) }
    }

    private func mark(
        _ call: NetworkEvent.CallSummary, _ kind: PulseRecording.Call.Mark.Kind, _ uptime: TimeInterval,
        wait: TimeInterval? = nil,
        detail: String? = nil
    ) {
        let detail = detail.map { shown($0) }
        change { $0.mark(call.rootID, kind, at: uptime, wait: wait, detail: detail) }
    }

    /// Records an event that belongs to no call.
    private func note(_ event: NetworkEvent) {
        guard let (kind, subject) = RecordedEvent.Kind.of(event) else { return }
        let recorded = RecordedEvent(
            date: clock.now, kind: kind, subject: shown(subject))
        change { $0.add(recorded) }
    }
}

extension SocketState {
    /// The seconds that the socket waits.
    fileprivate var delay: TimeInterval? {
        guard case .reconnecting(_, _, let delay, _) = self else { return nil }
        return delay
    }
}

/// The sink that a bus retains for a recorder. It refers to the recorder weakly.
final class RecorderSink: EventSink {
    private let recorder: @Sendable () -> PulseRecorder?

    init(_ recorder: @escaping @Sendable () -> PulseRecorder?) {
        self.recorder = recorder
    }

    var isActive: Bool { recorder() != nil }

    func emit(_ event: NetworkEvent) {
        recorder()?.take(event)
    }
}
