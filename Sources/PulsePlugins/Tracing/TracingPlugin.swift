// SPDX-License-Identifier: MIT

public import PulseCore

/// Makes calls part of a distributed trace, with the headers `traceparent` and `tracestate` of W3C Trace Context.
///
/// ```swift
/// let tracing = TracingPlugin(hosts: ["payments.example"])
/// let client = PulseClient(configuration: configuration, plugins: [tracing])
/// ```
///
/// Each call is one trace, and each attempt and redirect hop is a separate span. A call continues
/// ``TraceContext/current`` if it is bound, otherwise it starts a trace. The headers are sent to home origins and to
/// the listed hosts only, where they replace those of the request. From then on, the call's events have the trace's id.
public struct TracingPlugin: PulsePlugin {
    private let hosts: Set<String>
    private let isSampled: Bool

    public var identifier: String { "com.pulse.tracing" }

    /// Traces calls to the client's home origins and to the listed hosts.
    ///
    /// - Parameter hosts: host names in any case, without a port. None by default.
    /// - Parameter isSampled: whether traces that start here are recorded; true by default. A continued trace keeps its
    ///   flag.
    public init(hosts: Set<String> = [], isSampled: Bool = true) {
        self.hosts = Set(hosts.map(\.asciiLowercased))
        self.isSampled = isSampled
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard let url = request.url, isTraced(url, context) else { return try await next(request) }
        let span = span(for: context)
        var request = request
        // A state that belongs to another parent must not be sent with this one.
        request.setHeaders([("traceparent", span.traceparent), ("tracestate", span.traceState)])
        return try await next(request)
    }

    private func isTraced(_ url: URL, _ context: PluginContext) -> Bool {
        if context.isTrusted(url) { return true }
        guard !hosts.isEmpty, let host = context.origin(of: url)?.host else { return false }
        return hosts.contains(host)
    }

    private func span(for context: PluginContext) -> TraceContext {
        if let trace = context.call.trace { return TraceContext(within: trace, context.randomness) }
        let parent = TraceContext.current
        let span =
            parent.map { $0.child(context.randomness) }
            ?? TraceContext(isSampled: isSampled, context.randomness)
        // A concurrent copy of the request may have started the trace first.
        guard let earlier = context.call.begin(span.trace(continuing: parent)) else { return span }
        return TraceContext(within: earlier, context.randomness)
    }
}

extension TracingPlugin: HookDeclaring {}

extension PulsePlugin where Self == TracingPlugin {
    /// A ``TracingPlugin`` for the client's home origins and other hosts: ``TracingPlugin/init(hosts:isSampled:)``.
    public static func tracing(hosts: Set<String> = [], isSampled: Bool = true) -> TracingPlugin {
        TracingPlugin(hosts: hosts, isSampled: isSampled)
    }
}
