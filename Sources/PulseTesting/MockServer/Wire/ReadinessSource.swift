// SPDX-License-Identifier: MIT

import Dispatch

/// A source that reports when a socket can be read or written, on a queue; it starts paused.
///
/// Callers balance ``pause()`` and ``resume()``, and call ``cancel(isPaused:)`` before they release it.
struct ReadinessSource: @unchecked Sendable {
    // Unchecked, and sound: a dispatch source may be used from any thread (dispatch_source_create(3)); the Linux
    // overlay does not declare it. Handlers are set in `init`, before another thread can see the source.
    private let source: any DispatchSourceProtocol

    enum Direction {
        case read, write
    }

    /// - Parameter onCancel: runs after all other handlers; the socket may be closed in it and not before.
    init(
        _ direction: Direction, of socket: SocketDescriptor, on queue: DispatchQueue,
        onReady: @escaping @Sendable () -> Void, onCancel: @escaping @Sendable () -> Void
    ) {
        switch direction {
        case .read: source = DispatchSource.makeReadSource(fileDescriptor: socket.number, queue: queue)
        case .write: source = DispatchSource.makeWriteSource(fileDescriptor: socket.number, queue: queue)
        }
        source.setEventHandler(handler: onReady)
        source.setCancelHandler(handler: onCancel)
    }

    func pause() {
        source.suspend()
    }

    func resume() {
        source.resume()
    }

    func cancel(isPaused: Bool) {
        source.cancel()
        // A suspended source never runs its cancel handler, and traps when it is released.
        if isPaused { source.resume() }
    }
}
