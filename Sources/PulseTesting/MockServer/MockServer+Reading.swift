// SPDX-License-Identifier: MIT

import PulseCore

extension MockServer {
    /// How a route reads the bodies of its requests: the faults before a response.
    public struct Reading: Sendable {
        enum Mode: Sendable {
            case whole
            case headOnly
            case interrupted(after: Int, [Step])
            case slowly(bytes: Int, seconds: TimeInterval)
        }

        let mode: Mode

        /// Reads the whole body, as fast as it arrives, before the route responds.
        public static var whole: Reading { Reading(mode: .whole) }

        /// Does not read the body: the route responds as soon as the header fields are read, and no `100 Continue` is
        /// sent. The connection ends with the response, unless there is no body. A request with a body stays among the
        /// incomplete ones. If the client has sent more than 64 KiB of it, the server does not notice a disconnect
        /// during a handler or a delay.
        public static var headOnly: Reading { Reading(mode: .headOnly) }

        /// Reads a number of bytes of the body, then performs these steps; the rest is read after them if they leave
        /// the connection open. If the body is shorter, the steps run at its end.
        public static func interrupted(after bytes: Int, _ steps: Step...) -> Reading {
            Reading(mode: .interrupted(after: bytes, steps))
        }

        /// Repeatedly reads at most `bytes` bytes of the body, then waits `seconds` seconds of the server's clock. The
        /// client can be ahead by the bytes that arrived with the header fields (up to 64 KiB) and by the system's
        /// buffers: see ``Configuration/receiveBufferSize``.
        public static func slowly(bytes: Int, every seconds: TimeInterval) -> Reading {
            Reading(mode: .slowly(bytes: max(1, bytes), seconds: seconds))
        }
    }
}
