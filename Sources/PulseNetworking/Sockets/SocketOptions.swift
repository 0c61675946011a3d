// SPDX-License-Identifier: MIT

public import PulseCore

/// Settings of a socket: reconnection, timeouts, limits and message formats.
public struct SocketOptions: Sendable {
    /// What ``PulseSocket/send(_:)`` does without a connection.
    public enum WhileDown: Sendable {
        /// Waits for the next connection.
        case waits
        /// Throws ``PulseError/transport(_:underlying:)`` with `.networkConnectionLost`.
        case fails
    }

    /// Whether compression with permessage-deflate (RFC 7692) is offered to the server.
    public enum Compression: Sendable {
        /// Offered, on Linux only: messages of 1 KiB or more are compressed if the server agrees.
        case offered
        /// Not offered.
        case off
    }

    /// The kind of message in which a ``TypedSocket`` sends values.
    public enum Encoding: Sendable {
        /// A text message; the encoder must produce UTF-8.
        case text
        /// A binary message.
        case binary
    }

    /// What a ``TypedSocket`` does with a message that does not decode.
    public enum BadMessage: Sendable {
        /// Skips it with a ``NetworkEvent/warning(_:)``. The first one of a socket is also logged, at every log level.
        case skipped
        /// Closes the socket with code 1007, and throws ``PulseError/decodingFailed(type:underlying:)``.
        case fails
    }

    /// How the socket reconnects after its connection was lost.
    public var reconnect: ReconnectPolicy
    /// Close codes after which the socket does not reconnect: 1000, 1002, 1003, 1007, 1008, 1009 and 1010 by default,
    /// those that a new connection would not change (RFC 6455, section 7.4.1).
    public var fatalCodes: Set<Int>
    /// Seconds without a byte after a ping, after which the connection is lost, unless a byte arrives within one more
    /// second: the process may have been suspended. Nil, the default, is the ping interval, or 30 without pings.
    public var pongTimeout: TimeInterval?
    /// Maximum duration of a close handshake in seconds. 5 by default.
    public var closeTimeout: TimeInterval
    /// Maximum size of a received message in bytes, after decompression: a larger one closes the socket with code 1009.
    /// 16 MiB by default.
    public var maxMessageSize: Int
    /// Bytes of pending messages that ``PulseSocket/close(code:reason:)`` still sends. 1 MiB by default.
    public var sendBuffer: Int
    /// Bytes of messages received ahead of the reader; at this limit the socket stops reading. 1 MiB by default.
    public var receiveBuffer: Int
    /// What ``PulseSocket/send(_:)`` does without a connection.
    public var whileDown: WhileDown
    /// Whether compression is offered to the server.
    public var compression: Compression
    /// The kind of message in which a ``TypedSocket`` sends values.
    public var encoding: Encoding
    /// What a ``TypedSocket`` does with a message that does not decode.
    public var badMessage: BadMessage

    /// Creates options with the defaults documented on each property.
    public init(
        reconnect: ReconnectPolicy = .socket, fatalCodes: Set<Int> = [1000, 1002, 1003, 1007, 1008, 1009, 1010],
        pongTimeout: TimeInterval? = nil,
        closeTimeout: TimeInterval = 5, maxMessageSize: Int = 16 << 20, sendBuffer: Int = 1 << 20,
        receiveBuffer: Int = 1 << 20, whileDown: WhileDown = .waits, compression: Compression = .offered,
        encoding: Encoding = .text, badMessage: BadMessage = .skipped
    ) {
        self.reconnect = reconnect
        self.fatalCodes = fatalCodes
        self.pongTimeout = pongTimeout
        self.closeTimeout = closeTimeout
        self.maxMessageSize = maxMessageSize
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
    /// Describes the first invalid setting; nil if all are valid.
    ///
    /// - Parameter pingInterval: of the endpoint, in seconds.
    func fault(pingInterval: TimeInterval) -> String? {
        func fault(_ name: String, _ seconds: TimeInterval?, isZeroAllowed: Bool = false) -> String? {
            guard let seconds, !(seconds > 0 || isZeroAllowed && seconds == 0) else { return nil }
            return "the \(name) is \(seconds), and no positive number of seconds"
        }
        if let fault = fault("pingInterval", pingInterval, isZeroAllowed: true) ?? fault("pongTimeout", pongTimeout)
            ?? fault("closeTimeout", closeTimeout) ?? reconnect.fault
        {
            return fault
        }
        let sizes = [
            ("maxMessageSize", maxMessageSize), ("sendBuffer", sendBuffer), ("receiveBuffer", receiveBuffer),
        ]
        return sizes.first { $0.1 < 1 }.map { "the \($0.0) is \($0.1), and no positive number of bytes" }
    }
}
