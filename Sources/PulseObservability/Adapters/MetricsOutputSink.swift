// SPDX-License-Identifier: MIT

public import PulseCore

/// A sink that converts the events of calls and sockets to single measurements.
///
/// ```swift
/// let sink = MetricsOutputSink(output: SwiftMetricsOutput())    // your adapter to swift-metrics
/// bus.addSink(sink)
/// ```
///
/// The number of labels is bounded: routes, hosts and circuits beyond a maximum share the name `other`. For circuits,
/// the maximum is 200.
public final class MetricsOutputSink: EventSink {
    private struct Names: Sendable {
        var routes: BoundedNames
        var hosts: BoundedNames
        var circuits = BoundedNames(maximum: MetricsState.maxCircuits)
    }

    private let output: any Output
    private let names: Locked<Names>

    /// Creates a sink that passes measurements to an output.
    ///
    /// - Parameter maxRoutes: the number of routes with separate labels, first come, first served.
    /// - Parameter maxHosts: the number of hosts with separate labels, first come, first served.
    public init(output: any Output, maxRoutes: Int = 100, maxHosts: Int = 50) {
        self.output = output
        names = Locked(
            Names(routes: BoundedNames(maximum: maxRoutes), hosts: BoundedNames(maximum: maxHosts)))
    }

    public var isActive: Bool { true }

    public func emit(_ event: NetworkEvent) {
        switch event {
        case .requestCompleted(let result, let call, let latency):
            let labels = labels(of: call) + [("outcome", result.outcome)]
            output.increment("pulse.requests", by: 1, labels: labels)
            if result.isVerdict { output.record("pulse.request.duration", seconds: latency.asDuration, labels: labels) }
        case .responseReceived(let call, let status, let byteCount):
            let status = (100..<600).contains(status) ? "\(status)" : "invalid"
            output.increment("pulse.responses", by: 1, labels: labels(of: call) + [("status", status)])
            output.increment("pulse.received", by: Int64(max(0, byteCount)), labels: labels(of: call))
        case .attemptStarted(let call): output.increment("pulse.attempts", by: 1, labels: labels(of: call))
        case .requestRetrying(let call, _, _): output.increment("pulse.retries", by: 1, labels: labels(of: call))
        case .cacheHit(let call): count("hit", call)
        case .cacheMiss(let call): count("miss", call)
        case .cacheRevalidated(let call): count("revalidated", call)
        case .circuitBreakerOpened(let name):
            let circuit = names.withLock { $0.circuits.name(of: name) }
            output.increment("pulse.circuit.openings", by: 1, labels: [("circuit", circuit)])
        case .socketStateChanged(let call, .open):
            output.increment("pulse.socket.connections", by: 1, labels: labels(of: call))
        case .socketDisconnected(let call, let end): count(end, call)
        default: break
        }
    }

    private func count(_ end: NetworkEvent.SocketDisconnection, _ call: NetworkEvent.CallSummary) {
        let labels = labels(of: call)
        let code = MetricsSnapshot.Sockets.label(of: MetricsSnapshot.Sockets.codeClass(of: end.code))
        output.increment("pulse.socket.disconnections", by: 1, labels: labels + [("code", code)])
        for (direction, messages, bytes) in [
            ("sent", end.messagesSent, end.bytesSent), ("received", end.messagesReceived, end.bytesReceived),
        ] {
            let labels = labels + [("direction", direction)]
            output.increment("pulse.socket.messages", by: Int64(max(0, messages)), labels: labels)
            output.increment("pulse.socket.transferred", by: max(0, bytes), labels: labels)
        }
    }

    private func count(_ result: String, _ call: NetworkEvent.CallSummary) {
        output.increment("pulse.cache.requests", by: 1, labels: labels(of: call) + [("result", result)])
    }

    private func labels(of call: NetworkEvent.CallSummary) -> [(String, String)] {
        let (route, host) = names.withLock { ($0.routes.name(of: call.route), $0.hosts.name(of: call.host)) }
        return [("route", route), ("host", host)]
    }
}

extension MetricsOutputSink {
    /// An output for single measurements: an adapter to a metrics system such as swift-metrics.
    ///
    /// The code that emits an event calls it synchronously, on any thread and concurrently. It must be short, and wait
    /// for nothing but a lock. Names are words joined by dots; labels are in a fixed order.
    public protocol Output: Sendable {
        /// Adds `count`, which is never negative, to the counter with this name and these labels.
        func increment(_ counter: String, by count: Int64, labels: [(String, String)])
        /// Records one duration, in seconds: from 0 to 24 hours, never NaN.
        func record(_ timer: String, seconds: TimeInterval, labels: [(String, String)])
    }
}

extension Result<NetworkEvent.ResponseSummary, PulseError.Summary> {
    fileprivate var outcome: String {
        switch self {
        case .success: "succeeded"
        case .failure(let error) where error.kind == .cancelled: "cancelled"
        case .failure(let error) where error.kind == .queuedOffline: "queued_offline"
        case .failure: "failed"
        }
    }

    fileprivate var isVerdict: Bool {
        guard case .failure(let error) = self else { return true }
        return error.kind != .cancelled && error.kind != .queuedOffline
    }
}

extension TimeInterval {
    /// A duration that every metrics system accepts: some trap on NaN, or on more nanoseconds than an integer holds.
    fileprivate var asDuration: TimeInterval {
        self > 0 ? Swift.min(self, MetricsSnapshot.Histogram.longest * 24) : 0
    }
}
