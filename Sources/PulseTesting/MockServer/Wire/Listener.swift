// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulsePlatform

/// A listening socket that delivers connections until it is closed.
final class Listener: Sendable {
    private struct State {
        var source: ReadinessSource?
        var isPaused = true
    }

    let port: Int
    private let descriptor: SocketDescriptor
    private let poller: ReadinessPoller
    private let state = Locked(State())
    private let disposed = Latch()

    /// Binds and listens; accepts no connection before ``open(on:_:)``.
    init(host: MockServer.Configuration.Host, backlog: Int, _ poller: ReadinessPoller) throws {
        self.poller = poller
        (descriptor, port) = try SocketDescriptor.listening(on: host, backlog: backlog)
    }

    /// Passes each connection to `take`, on `queue`.
    func open(on queue: DispatchQueue, _ take: @escaping @Sendable (SocketDescriptor) -> Void) {
        state.withLock { state in
            let source = ReadinessSource(.read, of: descriptor.number, by: poller, on: queue) {
                self.acceptAll(on: queue, take)
            } onCancel: {
                self.descriptor.dispose()
                self.disposed.open()
            }
            state.source = source
            state.isPaused = false
            source.resume()
        }
    }

    /// Continues after a stop because no descriptor was free.
    func retry() {
        state.withLock { state in
            guard let source = state.source, state.isPaused else { return }
            state.isPaused = false
            source.resume()
        }
    }

    func close() {
        state.withLock { state in
            state.source?.cancel()
            state.source = nil
        }
    }

    /// Returns when the port is free again, after ``close()``.
    func disposal() async {
        await disposed.wait()
    }

    private func acceptAll(on queue: DispatchQueue, _ take: (SocketDescriptor) -> Void) {
        while true {
            do {
                guard let connection = try descriptor.acceptConnection() else { return }
                take(connection)
            } catch let failure as SocketFailure where failure.isExhaustion {
                // The connection stays in the backlog and the socket readable: without a pause this would spin.
                state.withLock { state in
                    guard let source = state.source, !state.isPaused else { return }
                    state.isPaused = true
                    source.pause()
                }
                // A descriptor may be freed outside this server.
                return queue.asyncAfter(deadline: .now() + .milliseconds(50)) { [weak self] in self?.retry() }
            } catch {
                return
            }
        }
    }
}
