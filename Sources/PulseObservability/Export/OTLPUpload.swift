// SPDX-License-Identifier: MIT

public import PulseCore

/// An endpoint that sends metrics or traces to an OpenTelemetry collector over HTTP, as JSON.
///
/// ```swift
/// let collector = PulseClient(configuration: PulseConfiguration(baseURL: url), events: PulseEventBus())
/// _ = try await collector.request(OTLPUpload.metrics(json))
/// ```
///
/// Send it with a client that has its own bus: otherwise each upload is itself counted, traced and uploaded.
public struct OTLPUpload: Endpoint {
    /// Empty: the collector's response body is ignored.
    public typealias Response = EmptyResponse

    public let path: String
    private let json: Data

    public var method: HTTPMethod { .post }
    public var body: RequestBody { .data(json, contentType: "application/json") }

    /// An upload of metrics, to `/v1/metrics`.
    ///
    /// - Parameter json: the output of ``OTLPMetrics``.
    public static func metrics(_ json: Data) -> OTLPUpload { OTLPUpload(path: "/v1/metrics", json: json) }

    /// An upload of traces, to `/v1/traces`.
    ///
    /// - Parameter json: the output of ``OTLPTraces``.
    public static func traces(_ json: Data) -> OTLPUpload { OTLPUpload(path: "/v1/traces", json: json) }
}
