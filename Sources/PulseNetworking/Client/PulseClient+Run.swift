// SPDX-License-Identifier: MIT

import PulseCore

extension PulseClient {
    /// Announces a call and registers it, unless it must not even begin. Its work starts afterwards: a task that a
    /// shutdown does not know of would outlive the client.
    func begin(_ call: Call) throws(PulseError) -> CallRegistry.Ticket {
        call.emit(.requestStarted(call.firstSummary))
        let error = call.endBeforeStart
        if error == nil, let ticket = calls.add(tag: call.options.tag) { return ticket }
        call.emitEnd(.failure(error ?? .cancelled), error == nil ? .shutdown : nil)
        throw error?.naming(call) ?? .cancelled
    }

    /// Lets a tag, a shutdown and the deadline end the work of a call; gives the deadline's alarm, if there is one.
    func watch(_ call: Call, _ ticket: CallRegistry.Ticket, _ work: CallRegistry.Work) -> DeadlineHeap.Alarm? {
        calls.update(ticket, work)
        return call.deadline.map { deadline in
            deadlines.add(deadline) {
                call.expireDeadline()
                work.cancel()
            }
        }
    }

    /// Sees a call to its end: plugins are completed and the last event is emitted.
    func finish(
        _ result: Result<PulseResponse, any Error>, of call: Call, _ ticket: CallRegistry.Ticket,
        _ alarm: DeadlineHeap.Alarm?, through pipeline: PluginPipeline
    ) async throws -> PulseResponse {
        if let alarm { deadlines.remove(alarm) }
        let outcome = call.outcome(of: result)
        // Without plugins there is nobody to complete, nor anybody who could still come late with a `next`.
        if pipeline.hasPlugins, !outcome.isStreamed { await PluginChain.complete(call, pipeline) }
        settle(outcome, of: call, ticket, through: pipeline)
        return try outcome.get()
    }

    /// Ends a call whose plugins are completed; a streamed one ends when its body does.
    private func settle(
        _ outcome: Result<PulseResponse, PulseError>, of call: Call, _ ticket: CallRegistry.Ticket,
        through pipeline: PluginPipeline
    ) {
        guard case .success(var answer) = outcome, let stream = answer.bytes else {
            call.emitEnd(outcome, calls.canceller(of: ticket))
            return calls.remove(ticket)
        }
        calls.update(ticket, .other { [weak stream] in stream?.cancel() })
        // Without its stream, which would otherwise keep itself alive.
        answer.bytes = nil
        let timings = stream.timingsAtEnd
        stream.onEnd { [answer] error in
            Task {
                await PluginChain.complete(call, pipeline)
                var answer = answer
                answer.timings = timings?() ?? answer.timings
                call.emitEnd(error.map { .failure($0) } ?? .success(answer), self.calls.canceller(of: ticket))
                self.calls.remove(ticket)
            }
        }
    }
}

extension Result<PulseResponse, PulseError> {
    fileprivate var isStreamed: Bool { (try? get())?.bytes != nil }

    // `map` and `mapError` would each copy the whole answer.
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
    // The error has no room for it: its case has no value.
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
    /// The same error with the method and path of the call, where its text has room for them.
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

    /// The length of the deadline, and how far the call had got.
    fileprivate var deadlineText: String {
        (options.deadline.map { ", \($0) s" } ?? "")
            + (sentCount == 0 ? ", before anything was sent" : ", with \(sentCount) sent")
    }

    /// Why the call must not even begin.
    fileprivate var endBeforeStart: PulseError? {
        if Task.isCancelled { return .cancelled }
        if let fault = options.fault { return .invalidRequest(reason: fault) }
        guard let deadline, environment.clock.uptime >= deadline else { return nil }
        return .deadlineExceeded(last: nil)
    }

    fileprivate func outcome(of result: Result<PulseResponse, any Error>) -> Result<PulseResponse, PulseError> {
        result.mapError { finalError(PulseError(wrapping: $0)) }
    }

    /// What the caller gets: a call that its deadline cut names the failure before it.
    private func finalError(_ error: PulseError) -> PulseError {
        switch error {
        case .deadlineExceeded(last: nil): .deadlineExceeded(last: lastFailure)
        case .cancelled where isExpired: .deadlineExceeded(last: lastFailure)
        default: error.naming(self)
        }
    }
}
