// SPDX-License-Identifier: MIT

import PulseCore

extension PulseClient {
    /// Emits the start event of a call and registers it, or throws if the call must not start. Its work starts
    /// afterwards: an unregistered task would outlive a shutdown.
    func begin(_ call: Call) throws(PulseError) -> CallRegistry.Ticket {
        call.emit(.requestStarted(call.firstSummary))
        let error = call.endBeforeStart
        if error == nil, let ticket = calls.add(tag: call.options.tag) { return ticket }
        call.emitEnd(.failure(error ?? .cancelled), error == nil ? .shutdown : nil)
        throw error?.naming(call) ?? .cancelled
    }

    /// Lets a tag, a shutdown and the deadline cancel the work of a call. Returns the alarm of the deadline, if any.
    func watch(_ call: Call, _ ticket: CallRegistry.Ticket, _ work: CallRegistry.Work) -> DeadlineHeap.Alarm? {
        calls.update(ticket, work)
        return call.deadline.map { deadline in
            deadlines.add(deadline) {
                call.expireDeadline()
                work.cancel()
            }
        }
    }

    /// Ends a call: completes its plugins and emits its last event.
    func finish(
        _ result: Result<PulseResponse, any Error>, of call: Call, _ ticket: CallRegistry.Ticket,
        _ alarm: DeadlineHeap.Alarm?, through pipeline: PluginPipeline
    ) async throws -> PulseResponse {
        if let alarm { deadlines.remove(alarm) }
        let outcome = call.outcome(of: result)
        // Without plugins there is nothing to complete, and no plugin can call `next` late.
        if pipeline.hasPlugins, !outcome.isStreamed { await PluginChain.complete(call, pipeline) }
        settle(outcome, of: call, ticket, through: pipeline)
        return try outcome.get()
    }

    /// Ends a call whose plugins are completed. A streamed call ends when its body ends.
    private func settle(
        _ outcome: Result<PulseResponse, PulseError>, of call: Call, _ ticket: CallRegistry.Ticket,
        through pipeline: PluginPipeline
    ) {
        guard case .success(var response) = outcome, let stream = response.bytes else {
            call.emitEnd(outcome, calls.canceller(of: ticket))
            return calls.remove(ticket)
        }
        calls.update(ticket, .other { [weak stream] in stream?.cancel() })
        // Without its stream, which would otherwise retain itself.
        response.data = Data()
        let timings = stream.timingsAtEnd
        stream.onEnd { [response] error in
            Task {
                await PluginChain.complete(call, pipeline)
                var response = response
                response.timings = timings?() ?? response.timings
                call.emitEnd(error.map { .failure($0) } ?? .success(response), self.calls.canceller(of: ticket))
                self.calls.remove(ticket)
            }
        }
    }
}

extension Result<PulseResponse, PulseError> {
    fileprivate var isStreamed: Bool { (try? get())?.bytes != nil }

    // `map` and `mapError` would each copy the whole response.
    fileprivate func summary(_ call: Call, _ canceller: CallRegistry.Canceller?) -> Result<
        ResponseSummary, ErrorSummary
    > {
        switch self {
        case .success(let response): .success(ResponseSummary(response))
        case .failure(.cancelled): .failure(ErrorSummary(kind: .cancelled, message: "cancelled: \(canceller.reason)"))
        case .failure(.deadlineExceeded(let last)):
            .failure(
                ErrorSummary(
                    kind: .deadlineExceeded, statusCode: last?.statusCode,
                    message: "deadline exceeded\(call.deadlineText)" + (last.map { ", after: \($0.summary)" } ?? "")))
        case .failure(let error): .failure(ErrorSummary(error))
        }
    }
}

extension CallRegistry.Canceller? {
    // Only the event can state the reason: `PulseError.cancelled` has no associated value.
    fileprivate var reason: String {
        switch self {
        case .cancelAll: "by cancelAll() of the client"
        case .tag(let tag): "by cancelAll(tag: \(Redaction.standard.text(tag.debugDescription)))"
        case .shutdown: "the client was shut down"
        case nil: "by the calling task, or by a plugin"
        }
    }
}

extension PulseError {
    /// Adds the method and path of the call to an error that has a text.
    func naming(_ call: Call) -> PulseError {
        let request = " (\(call.method) \(call.endpointPath.isEmpty ? "/" : call.endpointPath.onOneLine))"
        return switch self {
        case .invalidURL(let text): .invalidURL(text + request)
        case .invalidRequest(let reason): .invalidRequest(reason: reason + request)
        case .unsupported(let what): .unsupported(what + request)
        default: self
        }
    }
}

extension Call {
    fileprivate func emitEnd(
        _ outcome: Result<PulseResponse, PulseError>, _ canceller: CallRegistry.Canceller? = nil
    ) {
        emit(
            .requestCompleted(
                outcome.summary(self, canceller), summary, latency: environment.clock.uptime - startUptime))
    }

    /// The length of the deadline, and the sent count of the call.
    fileprivate var deadlineText: String {
        (options.deadline.map { ", \($0) s" } ?? "")
            + (sentCount == 0 ? ", before anything was sent" : ", with \(sentCount) sent")
    }

    /// The error of a call that must not start.
    fileprivate var endBeforeStart: PulseError? {
        if Task.isCancelled { return .cancelled }
        if let fault = options.fault { return .invalidRequest(reason: fault) }
        guard let deadline, environment.clock.uptime >= deadline else { return nil }
        return .deadlineExceeded(last: nil)
    }

    fileprivate func outcome(of result: Result<PulseResponse, any Error>) -> Result<PulseResponse, PulseError> {
        result.mapError { finalError(PulseError(wrapping: $0)) }
    }

    /// The error that the caller receives. An expired deadline includes the call's last failure.
    private func finalError(_ error: PulseError) -> PulseError {
        switch error {
        case .deadlineExceeded(last: nil): .deadlineExceeded(last: lastFailure)
        case .cancelled where isExpired: .deadlineExceeded(last: lastFailure)
        default: error.naming(self)
        }
    }
}
