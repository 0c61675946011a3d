// SPDX-License-Identifier: MIT

public import PulseCore

/// How a socket is kept open, and its limits.
public struct SocketOptions: Sendable {
    /// What ``PulseSocket/send(_:)`` does without a connection.
    public enum WhileDown: Sendable {
        /// It waits for the next connection.
        case waits
        /// It throws ``PulseError/transport(_:underlying:)`` with `.networkConnectionLost`.
        case fails
    }

    /// Whether messages are compressed by permessage-deflate (RFC 7692).
    public enum Compression: Sendable {
        /// It is offered to the server, on Linux: messages of 1 KiB or more are compressed if the server agrees.
        case offered
        /// It is not offered.
        case off
    }

    /// The kind of message in which a ``TypedSocket`` sends values.
    public enum Encoding: Sendable {
        /// A text, which the encoder's bytes must be.
        case text
        /// A binary message.
        case binary
    }

    /// What a ``TypedSocket`` does with a message that does not decode.
    public enum BadMessage: Sendable {
        /// It is skipped with a ``NetworkEvent/warning(_:)``. The first one of a socket is also written to the log, at
        /// every log level.
        case skipped
        /// The socket closes with code 1007, and throws ``PulseError/decodingFailed(type:underlying:)``.
        case fails
    }

    /// How the socket reconnects after its connection was lost.
    public var reconnect: Reconnect
    /// Seconds without any byte after a ping, after which the connection is lost, unless a byte comes within another
    /// second: the process may have been stopped. Nil, the default, is the ping interval.
    public var pongTimeout: TimeInterval?
    /// Seconds that a close handshake may take. 5 by default.
    public var closeTimeout: TimeInterval
    /// The limit of a received message in bytes, after decompression: a larger one closes the socket with code 1009.
    /// 16 MiB by default.
    public var maximumMessageSize: Int
    /// The bytes of messages that are accepted for sending before ``PulseSocket/close(code:reason:)``, and so are still
    /// sent by it. 1 MiB by default.
    public var sendBuffer: Int
    /// The bytes of messages that are received ahead of the reader; then the server is held back. 1 MiB by default.
    public var receiveBuffer: Int
    /// What ``PulseSocket/send(_:)`` does without a connection.
    public var whileDown: WhileDown
    /// Whether compression is offered to the server.
    public var compression: Compression
    /// The kind of message in which a ``TypedSocket`` sends values.
    public var encoding: Encoding
    /// What a ``TypedSocket`` does with a message that does not decode.
    public var badMessage: BadMessage

    /// Creates options; each has the default that its property names.
    public init(
        reconnect: Reconnect = Reconnect(), pongTimeout: TimeInterval? = nil,
        closeTimeout: TimeInterval = 5, maximumMessageSize: Int = 16 << 20, sendBuffer: Int = 1 << 20,
        receiveBuffer: Int = 1 << 20, whileDown: WhileDown = .waits, compression: Compression = .offered,
        encoding: Encoding = .text, badMessage: BadMessage = .skipped
    ) {
        self.reconnect = reconnect
        self.pongTimeout = pongTimeout
        self.closeTimeout = closeTimeout
        self.maximumMessageSize = maximumMessageSize
        self.sendBuffer = sendBuffer
        self.receiveBuffer = receiveBuffer
        self.whileDown = whileDown
        self.compression = compression
        self.encoding = encoding
        self.badMessage = badMessage
    }

    /// A copy with one setting changed: `.init().with(\.whileDown, value: .fails)`.
    public func with<Value>(_ setting: WritableKeyPath<SocketOptions, Value>, value: Value) -> SocketOptions {
        var copy = self
        copy[keyPath: setting] = value
        return copy
    }
}

extension SocketOptions {
    /// The fault in the settings, or nil.
    ///
    /// - Parameter pingInterval: of the endpoint.
    func fault(pingInterval: TimeInterval) -> String? {
        func fault(_ name: String, _ seconds: TimeInterval?, isZeroAllowed: Bool = false) -> String? {
            guard let seconds, !(seconds > 0 || isZeroAllowed && seconds == 0) else { return nil }
            return "the \(name) is \(seconds), and no positive number of seconds"
        }
        if let fault = fault("pingInterval", pingInterval, isZeroAllowed: true) ?? fault("pongTimeout", pongTimeout)
            ?? fault("closeTimeout", closeTimeout) ?? fault("cap", reconnect.cap)
            ?? fault("maximumServerDelay", reconnect.maximumServerDelay, isZeroAllowed: true)
            ?? fault("resetsAfter", reconnect.resetsAfter, isZeroAllowed: true)
        {
            return fault
        }
        if let attempts = reconnect.maxAttempts, attempts < 0 { return "the maxAttempts are \(attempts)" }
        let sizes = [
            ("maximumMessageSize", maximumMessageSize), ("sendBuffer", sendBuffer), ("receiveBuffer", receiveBuffer),
        ]
        return sizes.first { $0.1 < 1 }.map { "the \($0.0) is \($0.1), and no positive number of bytes" }
    }
}
