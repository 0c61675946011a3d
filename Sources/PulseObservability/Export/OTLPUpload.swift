// SPDX-License-Identifier: MIT

public import PulseCore

/// An endpoint that sends metrics or traces to an OpenTelemetry collector over HTTP, as JSON.
///
/// ```swift
/// let collector = PulseClient(configuration: PulseConfiguration(baseURL: url), events: PulseEventBus())
/// _ = try await collector.request(OTLPUpload.metrics(json))
/// ```
///
/// Send it with a client that has a bus of its own: otherwise each upload is counted, traced and uploaded in turn.
public struct OTLPUpload: Endpoint {
    /// Nothing: the collector's body is ignored.
    public typealias Response = EmptyResponse

    public let path: String
    private let json: Data

    public var method: HTTPMethod { .post }
    public var body: RequestBody { .data(json, contentType: "application/json") }

    /// An upload of metrics, to `/v1/metrics`.
    ///
    /// - Parameter json: what ``OTLPMetrics`` writes.
    public static func metrics(_ json: Data) -> OTLPUpload { OTLPUpload(path: "/v1/metrics", json: json) }

    /// An upload of traces, to `/v1/traces`.
    ///
    /// - Parameter json: what ``OTLPTraces`` writes.
    public static func traces(_ json: Data) -> OTLPUpload { OTLPUpload(path: "/v1/traces", json: json) }
}
