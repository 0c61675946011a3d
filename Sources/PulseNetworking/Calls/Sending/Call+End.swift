// SPDX-License-Identifier: MIT

import PulseCore

extension Result<PulseResponse, PulseError> {
    // `map` and `mapError` would each copy the whole response.
    fileprivate func summary(
        _ call: Call, _ canceller: ActiveCall.Canceller?, bytesRead: Int?
    ) -> Result<NetworkEvent.ResponseSummary, PulseError.Summary> {
        switch self {
        case .success(let response): .success(NetworkEvent.ResponseSummary(response, bytesRead: bytesRead))
        case .failure(.cancelled):
            .failure(PulseError.Summary(kind: .cancelled, message: "cancelled: \(canceller.reason)"))
        case .failure(.deadlineExceeded(let last)):
            .failure(
                PulseError.Summary(
                    kind: .deadlineExceeded, statusCode: last?.statusCode,
                    message: "deadline exceeded\(call.deadlineText)" + (last.map { ", after: \($0.summary)" } ?? "")))
        case .failure(let error): .failure(PulseError.Summary(error))
        }
    }
}

extension ActiveCall.Canceller? {
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
    /// Adds the method and path of the call to an error with a text, and the request to a transport error without one.
    func naming(_ call: Call) -> PulseError {
        let request = " (\(call.method) \(call.endpointPath.isEmpty ? "/" : call.shownPath.onOneLine))"
        return switch self {
        case .invalidURL(let text): .invalidURL(text + request)
        case .invalidRequest(let reason): .invalidRequest(reason: reason + request)
        case .unsupported(let what): .unsupported(what + request)
        default:
            naming(
                request: call.sent.map { Self.text(of: $0, maskedBy: call.environment.redaction) }
                    ?? "\(call.method) \(call.shownPath)")
        }
    }
}

extension Call {
    /// Emits the last event of the call.
    ///
    /// - Parameter bytesRead: the size of a streamed body.
    func emitEnd(
        _ outcome: Result<PulseResponse, PulseError>, _ canceller: ActiveCall.Canceller?, bytesRead: Int? = nil
    ) {
        let outcome = outcome.summary(self, canceller, bytesRead: bytesRead)
        emit(.requestCompleted(outcome, summary, latency: environment.clock.uptime - startUptime))
    }

    /// The length of the deadline, and the sent count of the call.
    fileprivate var deadlineText: String {
        (options.deadline.map { ", \($0) s" } ?? "")
            + (sentCount == 0 ? ", before anything was sent" : ", with \(sentCount) sent")
    }

    /// The error of a call that must not start.
    var endBeforeStart: PulseError? {
        if Task.isCancelled { return .cancelled }
        if let fault = options.fault { return .invalidRequest(reason: fault) }
        guard let deadline, environment.clock.uptime >= deadline else { return nil }
        return .deadlineExceeded(last: nil)
    }

    /// The outcome of the call's work, with the error that the caller receives.
    func outcome(of result: Result<PulseResponse, any Error>) -> Result<PulseResponse, PulseError> {
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
