// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport

/// A chain of plugins around a scripted transport, on a clock that records the waits and advances by them.
final class ChainUnderTest: Sendable {
    typealias Outcome = Result<PulseResponse, any Error>

    let clock: TestClock
    let sink = RecordingSink()
    private let script: Locked<[Outcome]>
    private let attempts = Locked<[(request: URLRequest, context: PluginContext)]>([])

    /// - Parameter outcomes: the transport's outcomes in order; the last one repeats.
    init(_ outcomes: [Outcome] = [.success(.sample())], clock: TestClock = TestClock(autoAdvances: true)) {
        script = Locked(outcomes)
        self.clock = clock
    }

    convenience init(failing error: any Error) {
        self.init([.failure(error)])
    }

    /// The sent requests, in order.
    var sent: [(request: URLRequest, context: PluginContext)] { attempts.withLock { $0 } }

    func pipeline(
        _ client: [any PulsePlugin] = [], endpoint: [any PulsePlugin] = [], retry: RetryPolicy? = nil,
        configured: RetryPolicy = .never
    ) -> PluginPipeline {
        PluginPipeline(client: client, endpoint: endpoint, retry: retry, configured: configured) {
            request, context, _ in
            self.attempts.withLock { $0.append((request, context.onWire())) }
            return try self.script.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }.get()
        }
    }

    func context(
        for request: URLRequest, options: RequestOptions = RequestOptions(), body: PluginContext.Body = .inRequest,
        deadline: TimeInterval? = nil
    ) -> PluginContext {
        .mock(
            for: request, options: options, body: body, deadline: deadline, clock: clock,
            randomness: SeededRandomness(seed: 1), events: sink)
    }

    /// Runs one request and completes the call, as the client does.
    func run(
        _ request: URLRequest, in context: PluginContext? = nil, through pipeline: PluginPipeline
    ) async -> Result<PulseResponse, PulseError> {
        let context = context ?? self.context(for: request)
        let result = await PluginChain(pipeline, context: context).result(request)
        await PluginChain.complete(context.call, pipeline)
        return result
    }
}

extension PulseResponse {
    static func sample(
        _ status: Int = 200, headers: HTTPHeaders = [:], bytes: ByteStream? = nil
    ) -> PulseResponse {
        var response = PulseResponse(statusCode: status, headers: headers, request: .mock())
        if let bytes { response.body = .stream(bytes) }
        return response
    }
}

extension Result where Success == PulseResponse, Failure == PulseError {
    var status: Int? { (try? get())?.statusCode }

    var error: PulseError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
