// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport

/// A client whose calls are recorded, with a clock that advances automatically.
struct RecorderStage {
    let clock = TestClock(autoAdvances: true)
    let bus = PulseEventBus()
    let recorder: PulseRecorder
    let client: PulseClient

    static let home = "https://api.example.com"

    init(
        options: PulseRecorder.Options = .init(), plugins: [any PulsePlugin] = [], isAttached: Bool = true,
        secretHeaders: Set<String> = [],
        respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse
    ) {
        recorder = PulseRecorder(options: options, clock: clock)
        if isAttached { recorder.attach(to: bus) }
        client = ClientStage.client(
            PulseConfiguration(baseURL: URL(string: Self.home) ?? URL(fileURLWithPath: "/")).with(
                \.secretHeaders, value: secretHeaders),
            plugins: plugins + [.recorder(recorder)],
            retry: RetryPolicy(maxAttempts: 3, backoffStrategy: .constant(0.5)), clock: clock, events: bus, respond)
    }

    var calls: [PulseRecording.Call] { recorder.recording().calls }
}

extension PulseRecording.Call {
    /// A call with one exchange.
    static func sample(
        _ number: Int = 1, url: String = "https://api.example.com/a", requestHeaders: HTTPHeaders = [:],
        requestBody: PulseRecording.Body = .none, response: PulseRecording.Exchange.Response? = .init(statusCode: 200),
        failure: PulseError.Summary? = nil, latency: TimeInterval = 0.25
    ) -> PulseRecording.Call {
        PulseRecording.Call(
            id: UUID(), endpointPath: "/a", route: "GetA", method: .get, host: "api.example.com",
            startedAt: Date(timeIntervalSince1970: 1_767_225_600 + TimeInterval(number)), latency: latency,
            outcome: failure.map { .failure($0) }
                ?? .success(
                    NetworkEvent.ResponseSummary(statusCode: response?.statusCode ?? 0, byteCount: 0, origin: .network)),
            exchanges: [
                PulseRecording.Exchange(
                    id: UInt64(number),
                    request: .init(method: "GET", url: url, headers: requestHeaders, body: requestBody),
                    response: response, failure: failure, duration: latency)
            ])
    }
}
