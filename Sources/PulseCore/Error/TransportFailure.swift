// SPDX-License-Identifier: MIT

/// The error that a transport throws when the wire failed: the code, and how far the request had got, which decides
/// whether it may be repeated.
///
/// ``PulseError/init(wrapping:)`` reads it and keeps it as the `underlying` error of
/// ``PulseError/transport(_:underlying:)``.
public struct TransportFailure: Error, Sendable {
    /// The kind of the failure, as a code of `URLError`.
    public let code: URLError.Code
    /// How far the request had got.
    public let phase: PulseError.Phase
    /// The cause, if there is one to report; nil if the code says it all.
    public let underlying: (any Error)?
    /// The method and the redacted URL, for texts.
    package var request: String?

    /// Creates a failure. A transport passes ``PulseError/Phase/beforeSend`` only if no byte of the request has left.
    public init(code: URLError.Code, phase: PulseError.Phase, underlying: (any Error)? = nil) {
        self.code = code
        self.phase = phase
        self.underlying = underlying
    }
}

extension TransportFailure: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable, LocalizedError {
    public var description: String {
        let cause = underlying.map { PulseError.text(of: $0) } ?? code.symbol
        return cause == code.symbol ? "\(code.symbol), \(phase)" : "\(code.symbol), \(phase): \(cause)"
    }
    public var debugDescription: String { description }
    public var errorDescription: String? { description }
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
