// SPDX-License-Identifier: MIT

import PulseCore

extension MockServer {
    /// The way in which a route reads the body of its requests: the faults before a response.
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

        /// Reads nothing of the body: the route responds as soon as the header fields are read, and no `100 Continue`
        /// is sent. The connection ends with the response, unless there is no body. A request with a body stays among
        /// the incomplete ones. If the client has sent more than 64 KiB of it, the server does not notice its end
        /// during a handler or a delay.
        public static var headOnly: Reading { Reading(mode: .headOnly) }

        /// Reads that many bytes of the body, then performs these steps; the rest is read after them if they leave the
        /// connection open. With fewer bytes in the body the steps run at its end.
        public static func interrupted(after bytes: Int, _ steps: Step...) -> Reading {
            Reading(mode: .interrupted(after: bytes, steps))
        }

        /// Reads at most that many bytes of the body, then waits that many seconds of the server's clock, and so on.
        /// The client can be ahead by the bytes that arrived with the header fields (up to 64 KiB) and by the system's
        /// buffers: see ``Configuration/receiveBufferSize``.
        public static func slowly(bytes: Int, every seconds: TimeInterval) -> Reading {
            Reading(mode: .slowly(bytes: max(1, bytes), seconds: seconds))
        }
    }
}
