// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// One call in progress, from its registration to its last event. Copies share its state.
///
/// Three things happen in order: the work runs and returns a response, a streamed body arrives, the call ends. A
/// cancellation may arrive at any time. It cancels the current step, or else the next one.
struct ActiveCall: Sendable {
    /// The source of a cancellation, other than the calling task.
    enum Canceller: Sendable {
        case cancelAll
        case tag(String)
        case shutdown
    }

    private enum Phase: Sendable {
        /// Nothing runs yet.
        case starting
        /// The work runs. In this phase a call without a stream also completes its plugins.
        case running(Task<PulseResponse, any Error>)
        /// The caller has the response, and its body is still arriving. The stream is held weakly, since a dropped
        /// stream ends the call.
        case streaming(cancel: @Sendable () -> Void)
        /// The stream has ended, and the plugins complete. They are never cancelled: they free what they hold.
        case completing(Task<Void, Never>)
        case ended

        func cancel() {
            switch self {
            case .running(let task): task.cancel()
            case .streaming(let cancel): cancel()
            case .starting, .completing, .ended: break
            }
        }
    }

    private struct State {
        var phase = Phase.starting
        /// The first source of a cancellation.
        var canceller: Canceller?
    }

    let call: Call
    private let pipeline: PluginPipeline
    private let calls: CallRegistry
    // One allocation for each call: a class around it would be a second one.
    private let state = Locked(State())

    init(_ call: Call, _ pipeline: PluginPipeline, in calls: CallRegistry) {
        self.call = call
        self.pipeline = pipeline
        self.calls = calls
    }

    /// Emits the start event of the call and registers the call, or throws if the call must not start. Its work starts
    /// afterwards: an unregistered task would outlive a shutdown.
    func begin() throws(PulseError) {
        call.emit(.requestStarted(call.firstSummary))
        let error = call.endBeforeStart
        if error == nil, calls.add(self) { return }
        call.emitEnd(.failure(error ?? .cancelled), error == nil ? .shutdown : nil)
        throw error?.naming(call) ?? .cancelled
    }

    /// Waits for the response of the call's work, which the calling task, a tag, a shutdown and the deadline can
    /// cancel. The call ends here; a streamed call ends when its body ends, and its deadline does not cover the body.
    func response(of work: Task<PulseResponse, any Error>, _ deadlines: DeadlineHeap) async throws -> PulseResponse {
        enter(.running(work))
        let alarm = call.deadline.map { deadline in
            deadlines.add(deadline) { [call] in
                if call.expireDeadline() { work.cancel() }
            }
        }
        let result = await withTaskCancellationHandler {
            await work.result
        } onCancel: {
            work.cancel()
        }
        if let alarm { deadlines.remove(alarm) }
        let outcome = call.outcome(of: result)
        if case .success(let response) = outcome, let stream = response.bytes {
            follow(stream, of: response)
        } else {
            // Without plugins there is nothing to complete, and no plugin can call `next` late.
            if pipeline.hasPlugins { await PluginChain.complete(call, pipeline) }
            // A buffered call, the common case, needs no lookup.
            let stored: Int? = if case .buffered = call.delivery { nil } else { call.storedByteCount }
            end(outcome, bytesRead: stored)
        }
        return try outcome.get()
    }

    /// Ends the call when the stream ends.
    private func follow(_ stream: ByteStream, of response: PulseResponse) {
        enter(.streaming { [weak stream] in stream?.cancel() })
        let timings = stream.timingsAtEnd
        var response = response
        // Without its stream, which would otherwise retain itself.
        response.data = Data()
        stream.onEnd { [response] error, bytesRead in
            state.withLock { state in
                state.phase = .completing(
                    Task {
                        await PluginChain.complete(call, pipeline)
                        var response = response
                        response.timings = timings?() ?? response.timings
                        end(error.map { .failure($0) } ?? .success(response), bytesRead: bytesRead)
                    })
            }
        }
    }

    /// - Parameter bytesRead: the bytes read from a stream, or stored in a file.
    private func end(_ outcome: Result<PulseResponse, PulseError>, bytesRead: Int? = nil) {
        call.emitEnd(outcome, enter(.ended), bytesRead: bytesRead)
        calls.remove(self)
    }

    /// Throws if the call was cancelled, or its deadline expired, while the value was created.
    func unlessEnded<Value>(_ value: Value) throws -> Value {
        if state.withLock({ $0.canceller != nil }) { throw PulseError.cancelled }
        if let error = call.endBeforeStart { throw error }
        return value
    }

    /// Cancels the current step, or else the next one.
    func cancel(by canceller: Canceller) {
        let phase = state.withLock { state in
            state.canceller = state.canceller ?? canceller
            return state.phase
        }
        phase.cancel()
    }

    /// Enters the next phase, and returns the source of the cancellation, if any.
    @discardableResult
    private func enter(_ phase: Phase) -> Canceller? {
        // The previous phase is freed outside the lock, since its task may be the last owner of the work.
        let (_, canceller) = state.withLock { state in
            defer { state.phase = phase }
            return (state.phase, state.canceller)
        }
        if canceller != nil { phase.cancel() }
        return canceller
    }
}

/// A call that has started. It ends only if its response is awaited.
package struct RunningCall: Sendable {
    let active: ActiveCall
    let work: Task<PulseResponse, any Error>
    let deadlines: DeadlineHeap

    /// Called exactly once.
    package func response() async throws -> PulseResponse {
        try await active.response(of: work, deadlines)
    }

    /// Cancels the call as its caller does. Safe from any thread, at any time.
    package func cancel() {
        work.cancel()
    }
}
