// SPDX-License-Identifier: MIT

/// The error that a transport throws when the transfer fails: the code, and how far the request got, which decides
/// whether it may be repeated.
///
/// ``PulseError/init(wrapping:)`` reads it and keeps it as the `underlying` error of
/// ``PulseError/transport(_:underlying:)``.
public struct TransportFailure: Error, Sendable {
    /// The kind of the failure, as a code of `URLError`.
    public let code: URLError.Code
    /// How far the request got.
    public let phase: PulseError.Phase
    /// The cause, if there is one to report; nil if the code is sufficient.
    public let underlying: (any Error)?
    /// Whether the cause is a reused connection: it ended before the first byte of the response, or its server refused
    /// to process the request on it (RFC 9113, sections 6.8 and 8.7).
    ///
    /// The server may be healthy, so the retry loop resends such a request once, immediately, if it may be repeated.
    public let isStaleConnection: Bool
    /// The status and the header fields, if they arrived before the body failed. A client acts on a status that its
    /// call does not accept: it follows a redirect, and retries after a 503.
    public var response: PulseResponse?
    /// The method, the redacted URL, and the file involved, if any, for texts.
    package var request: String?

    /// Creates a failure.
    ///
    /// - Parameter phase: ``PulseError/Phase/beforeSend`` only if no byte of the request was sent, or if the server has
    ///   said that it did not process the request.
    /// - Parameter isStaleConnection: see ``isStaleConnection``; false by default.
    public init(
        code: URLError.Code, phase: PulseError.Phase, underlying: (any Error)? = nil, isStaleConnection: Bool = false
    ) {
        self.code = code
        self.phase = phase
        self.underlying = underlying
        self.isStaleConnection = isStaleConnection
    }

    /// The failure of a body whose header fields had arrived; nil for an error that is not about the body.
    package init?(ofBody error: any Error, of response: PulseResponse?) {
        switch error {
        case let failure as TransportFailure where failure.phase == .responseStarted: self = failure
        case let error as PulseError where error.kind == .responseTooLarge:
            self.init(code: .dataLengthExceedsMaximum, phase: .responseStarted, underlying: error)
        default: return nil
        }
        self.response = self.response ?? response
    }
}

extension TransportFailure: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable, LocalizedError {
    public var description: String {
        let cause = underlying.map { PulseError.text(of: $0) } ?? code.symbol
        let status = response.map { ", status \($0.statusCode)" } ?? ""
        let kind = "\(code.symbol), \(phase)\(status)" + (isStaleConnection ? ", stale connection" : "")
        return cause == code.symbol ? kind : "\(kind): \(cause.onOneLine)"
    }
    public var debugDescription: String { description }
    public var errorDescription: String? { description }
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
