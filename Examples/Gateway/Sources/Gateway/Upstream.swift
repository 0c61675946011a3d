// SPDX-License-Identifier: MIT

import PulseKit

/// The server behind the gateway, with all that observes the calls to it.
struct Upstream: Sendable {
    let client: PulseClient
    /// The longest time of a call.
    let timeout: TimeInterval
    let metrics = PulseMetricsCollector()
    let recorder: PulseRecorder?

    init(url: URL, timeout: TimeInterval, isRecorded: Bool) {
        self.timeout = timeout
        let events = PulseEventBus()
        metrics.attach(to: events)
        recorder = isRecorded ? PulseRecorder() : nil
        recorder?.attach(to: events)
        var plugins: [any PulsePlugin] = [
            CircuitBreakerPlugin(failureThreshold: 5, cooldownDuration: 5), .tracing(), DeadlineHeader(),
        ]
        if let recorder { plugins.append(.recorder(recorder)) }
        client = PulseClient(
            configuration: PulseConfiguration(baseURL: url)
                .with(\.connectTimeout, value: min(timeout, 2))
                .with(\.deadline, value: timeout),
            plugins: plugins, events: events)
    }
}

/// Tells the upstream how many milliseconds its caller still waits, for each attempt again.
struct DeadlineHeader: PulsePlugin {
    static let name = "X-Timeout-Ms"

    let identifier = "com.example.deadline-header"
    let scope = PluginScope.attempt

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        guard let deadline = context.deadline else { return }
        let left = max(0, deadline - context.clock.uptime)
        request.setValue("\(Int(left * 1000))", forHTTPHeaderField: Self.name)
    }
}
