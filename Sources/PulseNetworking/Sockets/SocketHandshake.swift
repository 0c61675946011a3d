// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// The fields that prove that a server has read the handshake of a WebSocket (RFC 6455, section 4.2.2).
package enum SocketHandshake {
    /// A new `Sec-WebSocket-Key`: 16 random bytes in base64.
    package static func key(_ randomness: any Randomness) -> String {
        var bytes = Data(capacity: 16)
        for _ in 0..<2 {
            withUnsafeBytes(of: randomness.next()) { bytes.append(contentsOf: $0) }
        }
        return bytes.base64EncodedString()
    }

    /// The `Sec-WebSocket-Accept` of that key; nil if the system has no SHA-1.
    package static func accept(for key: String) -> String? {
        SystemHashes.library?.sha1(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")?.base64EncodedString()
    }
}
