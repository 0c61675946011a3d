// SPDX-License-Identifier: MIT

#if !os(Linux)
package import Dispatch
import PulseCore

/// Polls descriptors for readiness. Empty, since Dispatch does that.
package struct ReadinessPoller: Sendable {
    package static func shared() throws -> ReadinessPoller { ReadinessPoller() }
}

/// Reports, on a queue, when a descriptor can be read or written. It starts paused.
package final class ReadinessSource: @unchecked Sendable {
    // Unchecked: a dispatch source may be used from any thread (dispatch_source_create(3)). Handlers are set in `init`,
    // before another thread can see the source.
    private let source: any DispatchSourceProtocol
    private let isPaused = Locked(true)

    package enum Direction: Sendable {
        case read, write
    }

    /// - Parameter onCancel: runs after all other handlers; the descriptor may be closed in it and not before.
    package init(
        _ direction: Direction, of descriptor: Int32, by poller: ReadinessPoller, on queue: DispatchQueue,
        onReady: @escaping @Sendable () -> Void, onCancel: @escaping @Sendable () -> Void
    ) {
        switch direction {
        case .read: source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        case .write: source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
        }
        source.setEventHandler(handler: onReady)
        source.setCancelHandler(handler: onCancel)
    }

    package func pause() {
        isPaused.withLock { isPaused in
            if !isPaused { source.suspend() }
            isPaused = true
        }
    }

    package func resume() {
        isPaused.withLock { isPaused in
            if isPaused { source.resume() }
            isPaused = false
        }
    }

    /// Stops the reports. A source must be cancelled before it is released.
    package func cancel() {
        source.cancel()
        // A suspended source never runs its cancel handler, and traps when it is released.
        resume()
    }
}
#endif
