// SPDX-License-Identifier: MIT

/// A message of a WebSocket (RFC 6455, section 5.6).
public enum SocketMessage: Sendable, Hashable {
    /// Text, sent in UTF-8.
    case text(String)
    /// Binary data, which the protocol does not interpret.
    case binary(Data)

    /// The size of the message in bytes; of text, in UTF-8.
    package var size: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let data): data.count
        }
    }

    /// The bytes of the message; of text, in UTF-8.
    package var bytes: Data {
        switch self {
        case .text(let text): Data(text.utf8)
        case .binary(let data): data
        }
    }
}
