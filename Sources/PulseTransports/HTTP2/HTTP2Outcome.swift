// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// The outcome of a request whose stream ended without a complete response: a pure decision.
enum HTTP2Outcome {
    /// Why the stream ended.
    enum Cause: Sendable {
        /// A RST_STREAM from either side, or a stream error that the session has detected.
        ///
        /// - Parameter isUnprocessed: whether the server says that it did not process the request.
        case reset(HTTP2Session.ErrorCode, isUnprocessed: Bool)
        /// The server has caused a connection error.
        case broken(HTTP2Session.Failure)
        /// The connection has ended, or failed with this error.
        case lost(any Error)
        case timedOut
        /// The client has closed the connection or left the stream.
        case closed
    }

    /// How far the exchange got.
    struct Progress: Sendable, Equatable {
        /// Whether the header fields of the request may have been sent.
        var isBegun = false
        /// Whether those of the response were received.
        var hasHead = false
        /// Whether the connection had carried other requests.
        var isReused = false

        fileprivate var phase: PulseError.Phase { hasHead ? .responseStarted : isBegun ? .maybeSent : .beforeSend }
    }

    /// Nothing was sent: another connection can take the request.
    case replaces
    case requiresHTTP1
    case failed(any Error)

    init(of cause: Cause, _ progress: Progress) {
        let isEnd =
            switch cause {
            case .reset, .broken, .lost: true
            case .timedOut, .closed: false
            }
        if isEnd, progress.isReused, !progress.isBegun, !progress.hasHead {
            self = .replaces
            return
        }
        switch cause {
        case .reset(.http11Required, _) where !progress.hasHead:
            self = .requiresHTTP1
        case .reset(.refusedStream, _) where !progress.hasHead, .reset(_, isUnprocessed: true) where !progress.hasHead:
            self = .failed(
                TransportFailure(
                    code: .networkConnectionLost, phase: .beforeSend, underlying: cause.text, isStaleConnection: true))
        case .reset(let reason, _):
            let code: URLError.Code = reason.blamesMessage ? .badServerResponse : .networkConnectionLost
            self = .failed(TransportFailure(code: code, phase: progress.phase, underlying: cause.text))
        case .broken(let failure):
            self = .failed(
                TransportFailure(code: .badServerResponse, phase: progress.phase, underlying: failure))
        case .lost(let error):
            self = .failed(Self.failure(of: error, progress))
        case .timedOut:
            self = .failed(TransportFailure(code: .timedOut, phase: progress.phase))
        case .closed:
            self = .failed(CancellationError())
        }
    }

    private static func failure(of error: any Error, _ progress: Progress) -> any Error {
        guard let failure = error as? TransportFailure else { return error }
        let isLost = failure.code == .networkConnectionLost
        return TransportFailure(
            code: failure.code, phase: progress.phase, underlying: failure.underlying,
            isStaleConnection: isLost && progress.isReused && progress.phase == .maybeSent)
    }
}

extension HTTP2Outcome.Cause {
    /// The end of a connection with an error of its session or its socket.
    init(_ error: any Error) {
        if let failure = error as? HTTP2Session.Failure { self = .broken(failure) } else { self = .lost(error) }
    }

    /// The code of a reset, for messages.
    fileprivate var text: HTTP2Session.Failure? {
        guard case .reset(let code, _) = self else { return nil }
        return HTTP2Session.Failure(code: code, text: "the stream was reset")
    }
}

extension HTTP2Session.ErrorCode {
    /// Whether the code says that a message or a frame was malformed.
    fileprivate var blamesMessage: Bool {
        switch self {
        case .protocolError, .compressionError, .frameSizeError, .flowControlError, .streamClosed: true
        default: false
        }
    }
}
#endif
