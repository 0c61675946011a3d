// SPDX-License-Identifier: MIT

package import PulseCore

/// Encodes traces as OpenTelemetry's `ExportTraceServiceRequest` in JSON, for a collector's `/v1/traces`.
package struct OTLPTraces: Sendable {
    private let resource: OTLPUpload.Resource

    /// Creates an encoder for a resource.
    package init(resource: OTLPUpload.Resource) {
        self.resource = resource
    }

    /// The traces as JSON. Throws ``PulseError/encodingFailed(underlying:)``.
    package func json(of traces: [CallTrace]) throws -> Data {
        let spans = traces.flatMap { [Self.span(of: $0)] + $0.attempts.enumerated().map(Self.span(of: $0)) }
        return try OTLPValue.data([
            "resourceSpans": [
                [
                    "resource": OTLPValue.resource(resource),
                    "scopeSpans": [["scope": OTLPValue.scope, "spans": .array(spans)]],
                ]
            ]
        ])
    }

    // MARK: Spans

    /// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT`
    private static let (internalKind, clientKind): (JSONValue, JSONValue) = (1, 3)

    private static func span(of trace: CallTrace) -> JSONValue {
        var attributes = common(trace, trace.method, host: trace.host)
        switch trace.result {
        case .success(let response):
            attributes.append(("http.response.status_code", OTLPValue.integer(response.statusCode)))
            attributes.append(("http.response.body.size", OTLPValue.integer(response.byteCount)))
            attributes.append(("pulse.origin", OTLPValue.text(response.origin.rawValue)))
        case .failure(let error):
            attributes.append(("error.type", OTLPValue.text(error.kind.rawValue)))
            if let status = error.statusCode {
                attributes.append(("http.response.status_code", OTLPValue.integer(status)))
            }
        }
        var span = span(
            trace, trace.method, trace.spanID, kind: internalKind, from: 0, for: trace.duration, attributes,
            error: trace.result.failure)
        if let parent = trace.parentSpanID { span["parentSpanId"] = .string(parent) }
        if !trace.marks.isEmpty { span["events"] = .array(trace.marks.map { event($0, of: trace) }) }
        return .object(span)
    }

    private static func span(of trace: CallTrace) -> (_ index: Int, _ attempt: CallTrace.Attempt) -> JSONValue {
        { index, attempt in
            var attributes = common(trace, attempt.method, host: attempt.host)
            if index > 0 { attributes.append(("http.request.resend_count", OTLPValue.integer(index))) }
            if let status = attempt.statusCode {
                attributes.append(("http.response.status_code", OTLPValue.integer(status)))
                attributes.append(("http.response.body.size", OTLPValue.integer(attempt.byteCount)))
                if status >= 400 { attributes.append(("error.type", OTLPValue.text("\(status)"))) }
            }
            if let error = attempt.error { attributes.append(("error.type", OTLPValue.text(error.kind.rawValue))) }
            for phase in attempt.phases {
                attributes.append(("pulse.phase.\(phase.phase.rawValue)", OTLPValue.number(phase.duration)))
            }
            var span = span(
                trace, attempt.method, attempt.spanID, kind: clientKind, from: attempt.start, for: attempt.duration,
                attributes, error: attempt.failure)
            span["parentSpanId"] = .string(trace.spanID)
            return .object(span)
        }
    }

    private static func span(
        _ trace: CallTrace, _ method: HTTPMethod, _ id: String, kind: JSONValue, from start: TimeInterval,
        for duration: TimeInterval, _ attributes: [(String, JSONValue)], error: String?
    ) -> [String: JSONValue] {
        var span: [String: JSONValue] = [
            "traceId": .string(trace.traceID), "spanId": .string(id), "kind": kind,
            "name": .string(trace.spanName(for: method)),
            "startTimeUnixNano": OTLPValue.nanoseconds(trace.start, plus: start),
            "endTimeUnixNano": OTLPValue.nanoseconds(trace.start, plus: start + duration),
            "attributes": OTLPValue.attributes(attributes),
        ]
        // `STATUS_CODE_ERROR`. A span without a status has no known error.
        if let error { span["status"] = ["code": 2, "message": .string(error)] }
        return span
    }

    private static func common(_ trace: CallTrace, _ method: HTTPMethod, host: String) -> [(String, JSONValue)] {
        var attributes = [
            ("http.request.method", OTLPValue.text(method.isOfOpenTelemetry ? "\(method)" : "_OTHER")),
            ("server.address", OTLPValue.text(host)),
            ("url.template", OTLPValue.text(SeriesName.shown(trace.route))),
        ]
        if !method.isOfOpenTelemetry {
            attributes.append(("http.request.method_original", OTLPValue.text(SeriesName.shown("\(method)"))))
        }
        return attributes
    }

    private static func event(_ mark: CallTrace.Mark, of trace: CallTrace) -> JSONValue {
        [
            "name": .string(mark.kind.rawValue),
            "timeUnixNano": OTLPValue.nanoseconds(trace.start, plus: mark.time),
            "attributes": mark.text.isEmpty ? [] : OTLPValue.attributes([("message", OTLPValue.text(mark.text))]),
        ]
    }
}

extension Result<NetworkEvent.ResponseSummary, PulseError.Summary> {
    /// The error in displayable form; nil for a success.
    fileprivate var failure: String? {
        guard case .failure(let error) = self else { return nil }
        return EventText.shown(error.message)
    }
}

extension CallTrace.Attempt {
    /// The error in displayable form; nil for a response that is not an error.
    fileprivate var failure: String? {
        if let error { return EventText.shown(error.message) }
        return statusCode.flatMap { $0 >= 400 ? "HTTP status \($0)" : nil }
    }
}
