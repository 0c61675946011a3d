// SPDX-License-Identifier: MIT

import PulseCore

extension PulseSocket {
    /// The received messages of a socket, until it has ended; ``SocketState/closed(_:)`` has the reason.
    ///
    /// Only one task may iterate at a time: a second one gets nil, with a ``NetworkEvent/warning(_:)``.
    public struct Messages<Element: Sendable>: AsyncSequence, Sendable {
        private let handle: SocketHandle
        private let decode: @Sendable (SocketMessage) -> Result<Element?, PulseError>

        init(_ handle: SocketHandle, decode: @escaping @Sendable (SocketMessage) -> Result<Element?, PulseError>) {
            self.handle = handle
            self.decode = decode
        }

        public func makeAsyncIterator() -> Iterator {
            Iterator(handle: handle, decode: decode)
        }

        /// The reader of the messages.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let handle: SocketHandle
            fileprivate let decode: @Sendable (SocketMessage) -> Result<Element?, PulseError>

            /// Returns the next message; nil once the socket has ended, or the task is cancelled.
            public mutating func next() async -> Element? {
                while true {
                    do {
                        if let element = try decode(await handle.core.receive()).get() { return element }
                    } catch {
                        let error = PulseError(wrapping: error)
                        // No warning if the socket itself has ended with this error.
                        if case .invalidRequest = error, !handle.core.hasFinished { handle.core.warn(error.summary) }
                        return nil
                    }
                }
            }
        }
    }
}
