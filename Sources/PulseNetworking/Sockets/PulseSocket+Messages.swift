// SPDX-License-Identifier: MIT

import PulseCore

extension PulseSocket {
    /// The messages of a socket. They end when the socket has ended; ``SocketState/closed(_:)`` has the reason.
    ///
    /// One task at a time reads. A second one gets the end, and a ``NetworkEvent/warning(_:)`` is emitted.
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
                        // Unless that is the end of the socket itself.
                        if case .invalidRequest = error, !handle.core.hasFinished { handle.core.warn(error.summary) }
                        return nil
                    }
                }
            }
        }
    }
}
