// SPDX-License-Identifier: MIT

public import PulseCore

/// An endpoint that sends metrics or traces to an OpenTelemetry collector over HTTP, as JSON.
///
/// ```swift
/// let collector = PulseClient(configuration: PulseConfiguration(baseURL: url), events: PulseEventBus())
/// _ = try await collector.request(OTLPUpload.metrics(await metrics.snapshot(), from: resource))
/// ```
///
/// Send it with a client that has its own bus: otherwise each upload is itself counted, traced and uploaded.
public struct OTLPUpload: Endpoint {
    /// Empty: the collector's response body is ignored.
    public typealias Response = EmptyResponse

    public let path: String
    /// The body, in OTLP's JSON; also for a collector that reads a file.
    public let json: Data

    public var method: HTTPMethod { .post }
    public var body: RequestBody { .data(json, contentType: "application/json") }

    /// An upload of a snapshot, to `/v1/metrics`. Throws ``PulseError/encodingFailed(underlying:)``.
    ///
    /// Counters are cumulative, from ``MetricsSnapshot/countingSince`` on. Names begin with `pulse.`. Labels have the
    /// names of OpenTelemetry's conventions for HTTP where one exists, such as `server.address`.
    ///
    /// - Parameter buckets: upper bounds in seconds; NaN, infinite bounds and those not above 0 are ignored.
    public static func metrics(
        _ snapshot: MetricsSnapshot, from resource: Resource,
        buckets: [TimeInterval] = PrometheusText.defaultBuckets
    ) throws -> OTLPUpload {
        let json = try OTLPMetrics(resource: resource, buckets: buckets).json(of: snapshot)
        return OTLPUpload(path: "/v1/metrics", json: json)
    }

    /// An upload of traces, to `/v1/traces`. Throws ``PulseError/encodingFailed(underlying:)``.
    ///
    /// A call is a span of kind internal; each of its attempts is a child span of kind client. Names and attributes
    /// follow OpenTelemetry's conventions for HTTP. A path may contain a secret, so the spans have the route and no
    /// URL.
    public static func traces(_ traces: [CallTrace], from resource: Resource) throws -> OTLPUpload {
        OTLPUpload(path: "/v1/traces", json: try OTLPTraces(resource: resource).json(of: traces))
    }
}
