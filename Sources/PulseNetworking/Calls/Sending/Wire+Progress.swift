// SPDX-License-Identifier: MIT

import PulseCore

extension PluginContext {
    /// The progress meter of one attempt, for the call's listener and for events; nil if neither applies.
    ///
    /// If the call has no listener, small bodies in memory are not measured: a transport sends those on a faster path,
    /// which a subscriber of events must not change.
    func progressMeter(for request: TransportRequest) -> ProgressMeter? {
        let listener = call.options.progress
        guard listener != nil || request.isLargeTransfer && call.environment.events?.isActive == true else {
            return nil
        }
        return ProgressMeter(clock: clock, attempt: call.nextTransfer()) { progress in
            listener?(progress)
            emit(.transferProgress(summary, completed: progress.completed, total: progress.total))
        }
    }
}

extension TransportRequest {
    fileprivate var isLargeTransfer: Bool {
        switch body {
        case .file, .stream: return true
        case .bytes(let data) where data.count > 64 << 10: return true
        case .none, .bytes:
            if case .file = delivery { return true }
            return false
        }
    }
}

extension Transport {
    /// Sends the request and reports the progress of its body to the call's meter.
    func send(_ request: TransportRequest, measuredBy meter: any BodyMeter) async throws -> PulseResponse {
        // Without a body, a transport reports the progress of the response.
        if case .none = request.body { return try await send(request) }
        var request = request
        request.progress = await meter.beginBody()
        return try await send(request)
    }

    /// Sends the request and lets the meter report its progress. The last report precedes the return or throw. A
    /// streamed response may arrive before the request's body is sent, so its reports end with the stream.
    func send(_ request: TransportRequest, measuredBy meter: ProgressMeter) async throws -> PulseResponse {
        var request = request
        request.progress = { meter.note($0) }
        do {
            let response = try await send(request)
            guard let stream = response.bytes else {
                await meter.end()
                return response
            }
            stream.onEnd { _ in meter.endWithoutWaiting() }
            return response
        } catch {
            await meter.end()
            throw error
        }
    }
}
