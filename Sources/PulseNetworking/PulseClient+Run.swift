// SPDX-License-Identifier: MIT

import PulseCore

extension PulseClient {
    /// Runs the body of a call in a task of its own, so that the caller, a tag, the deadline or a shutdown can end it,
    /// and sees it to its end: plugins completed, the last event emitted.
    func run(
        _ call: Call, through links: PluginChain.Links, _ body: @escaping @Sendable () async throws -> PulseResponse
    ) async throws -> PulseResponse {
        call.emit(.requestStarted(call.summary))
        if let error = call.endBeforeStart {
            await complete(call, links, .failure(error))
            throw error
        }
        // Before the task starts: a task that a shutdown does not know of would outlive it.
        guard let ticket = calls.add(tag: call.options.tag) else {
            await complete(call, links, .failure(.cancelled))
            throw PulseError.cancelled
        }
        let task = Task.startingNow(body)
        calls.update(ticket) { task.cancel() }
        let alarm = call.deadline.map { deadline in
            deadlines.add(deadline) {
                call.strikeDeadline()
                task.cancel()
            }
        }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        if let alarm { deadlines.remove(alarm) }
        return try await finish(result, of: call, ticket, links)
    }

    private func finish(
        _ result: Result<PulseResponse, any Error>, of call: Call, _ ticket: CallRegistry.Ticket,
        _ links: PluginChain.Links
    ) async throws -> PulseResponse {
        switch result {
        case .success(let response):
            guard let stream = response.bytes else {
                await complete(call, links, .success(response))
                calls.remove(ticket)
                return response
            }
            // The call ends when its body does.
            calls.update(ticket) { [weak stream] in stream?.cancel() }
            // Without its stream, which would else keep itself: nobody could drop it.
            var answer = response
            answer.bytes = nil
            stream.onEnd { [answer] error in
                Task {
                    await self.complete(call, links, error.map { .failure($0) } ?? .success(answer))
                    self.calls.remove(ticket)
                }
            }
            return response
        case .failure(let error):
            let error = call.finalError(PulseError(wrapping: error))
            await complete(call, links, .failure(error))
            calls.remove(ticket)
            throw error
        }
    }

    private func complete(
        _ call: Call, _ links: PluginChain.Links, _ outcome: Result<PulseResponse, PulseError>
    ) async {
        await PluginChain.complete(call, links)
        call.emit(
            .requestCompleted(
                outcome.map { ResponseSummary($0) }.mapError { ErrorSummary($0) }, call.summary,
                latency: environment.clock.uptime - call.startUptime))
    }
}

extension Call {
    /// Why the call must not even begin.
    fileprivate var endBeforeStart: PulseError? {
        if Task.isCancelled { return .cancelled }
        guard let deadline, environment.clock.uptime >= deadline else { return nil }
        return .deadlineExceeded(last: nil)
    }

    /// What the caller gets: a call that its deadline cut names the failure before it.
    fileprivate func finalError(_ error: PulseError) -> PulseError {
        switch error {
        case .deadlineExceeded(last: nil): .deadlineExceeded(last: lastFailure)
        case .cancelled where isStruck: .deadlineExceeded(last: lastFailure)
        default: error
        }
    }
}
