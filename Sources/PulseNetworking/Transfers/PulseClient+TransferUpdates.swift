// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

extension PulseClient {
    /// An update of a transfer.
    public enum TransferUpdate<Value: Sendable>: Sendable {
        /// The progress of the transfer.
        case progress(TransferProgress)
        /// The result, as the last element.
        case finished(Value)
    }
}

extension PulseClient.TransferUpdate: Equatable where Value: Equatable {}

extension PulseClient {
    /// The updates of a transfer: its progress, then its result.
    ///
    /// Cold: each iterator makes its own transfer, which begins when its first element is requested. Leaving the loop,
    /// releasing the iterator or cancelling its task cancels the transfer. A reader that is slower than the transfer
    /// receives the latest progress; the last one always comes before the result.
    public struct TransferUpdates<Value: Sendable>: AsyncSequence, Sendable {
        public typealias Element = TransferUpdate<Value>

        typealias Transfer =
            @Sendable (
                _ progress: @escaping @Sendable (TransferProgress) -> Void
            ) async throws -> Value

        private let transfer: Transfer

        init(_ transfer: @escaping Transfer) {
            self.transfer = transfer
        }

        public func makeAsyncIterator() -> Iterator {
            Iterator(feed: Feed(transfer))
        }

        /// The reader of one transfer.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let feed: Feed

            /// Returns the next update, or nil after the result. Throws ``PulseError`` once, if the transfer fails.
            public mutating func next() async throws -> TransferUpdate<Value>? {
                try await feed.next()
            }
        }

        /// One transfer, which ends with its reader.
        fileprivate final class Feed: Sendable {
            private enum Work {
                case idle(Transfer)
                case running(Task<Void, Never>)
                case ended
            }

            private struct State {
                var work: Work
                var progress: TransferProgress?
                var result: Result<Value, any Error>?
                var waiter: CheckedContinuation<Void, Never>?
            }

            private let state: Locked<State>

            init(_ transfer: @escaping Transfer) {
                state = Locked(State(work: .idle(transfer)))
            }

            deinit {
                cancel()
            }

            func next() async throws -> TransferUpdate<Value>? {
                start()
                return try await withTaskCancellationHandler {
                    while true {
                        if let update = try take() { return update }
                        if state.withLock({ if case .ended = $0.work { true } else { false } }) { return nil }
                        await news()
                    }
                } onCancel: {
                    cancel()
                }
            }

            private func start() {
                state.withLock { state in
                    guard case .idle(let transfer) = state.work else { return }
                    state.work = .running(
                        Task { [weak self] in
                            let result: Result<Value, any Error>
                            do {
                                result = .success(try await transfer { [weak self] in self?.note($0) })
                            } catch {
                                result = .failure(PulseError(wrapping: error))
                            }
                            self?.change { $0.result = result }
                        })
                }
            }

            private func cancel() {
                if case .running(let task) = state.withLock({ $0.work }) { task.cancel() }
            }

            private func note(_ progress: TransferProgress) {
                change { $0.progress = progress }
            }

            private func change(_ body: (inout State) -> Void) {
                let waiter = state.withLock { state in
                    body(&state)
                    defer { state.waiter = nil }
                    return state.waiter
                }
                waiter?.resume()
            }

            /// Takes the next available update; nil if there is none.
            private func take() throws -> TransferUpdate<Value>? {
                let result = state.withLock { state -> Result<TransferUpdate<Value>, any Error>? in
                    if let progress = state.progress {
                        state.progress = nil
                        return .success(.progress(progress))
                    }
                    guard let result = state.result else { return nil }
                    (state.result, state.work) = (nil, .ended)
                    return result.map { .finished($0) }
                }
                return try result?.get()
            }

            private func news() async {
                await state.suspend { state, waiter in
                    if state.progress != nil || state.result != nil { return false }
                    if case .ended = state.work { return false }
                    state.waiter = waiter
                    return true
                }
            }
        }
    }
}
