// SPDX-License-Identifier: MIT

package import PulseCore

/// Encodes snapshots as OpenTelemetry's `ExportMetricsServiceRequest` in JSON, for a collector's `/v1/metrics`.
package struct OTLPMetrics: Sendable {
    private let resource: OTLPUpload.Resource
    private let buckets: [TimeInterval]

    /// Creates an encoder for a resource, with upper bucket bounds in seconds.
    package init(resource: OTLPUpload.Resource, buckets: [TimeInterval] = PrometheusText.defaultBuckets) {
        self.resource = resource
        self.buckets = HistogramBounds.valid(buckets)
    }

    /// The snapshot as JSON. Throws ``PulseError/encodingFailed(underlying:)``.
    package func json(of snapshot: MetricsSnapshot) throws -> Data {
        try OTLPValue.data(value(of: snapshot))
    }

    private func value(of snapshot: MetricsSnapshot) -> JSONValue {
        let metrics = snapshot.families.map { metric($0, snapshot) }
        return [
            "resourceMetrics": [
                [
                    "resource": OTLPValue.resource(resource),
                    "scopeMetrics": [["scope": OTLPValue.scope, "metrics": .array(metrics)]],
                ]
            ]
        ]
    }

    /// `AGGREGATION_TEMPORALITY_CUMULATIVE`
    private static let cumulative: JSONValue = 2

    private func metric(_ family: MetricFamily, _ snapshot: MetricsSnapshot) -> JSONValue {
        let points = JSONValue.array(family.samples.map { point($0, family, snapshot) })
        var metric: [String: JSONValue] = [
            "name": .string("pulse.\(family.name)"), "description": .string(family.help), "unit": family.ucum,
        ]
        switch family.kind {
        case .counter:
            metric["sum"] = ["dataPoints": points, "aggregationTemporality": Self.cumulative, "isMonotonic": true]
        case .gauge: metric["gauge"] = ["dataPoints": points]
        case .histogram: metric["histogram"] = ["dataPoints": points, "aggregationTemporality": Self.cumulative]
        case .summary: metric["summary"] = ["dataPoints": points]
        }
        return .object(metric)
    }

    private func point(_ sample: MetricFamily.Sample, _ family: MetricFamily, _ snapshot: MetricsSnapshot) -> JSONValue
    {
        var point: [String: JSONValue] = [
            "attributes": OTLPValue.attributes(
                sample.labels.map { label in
                    let value = label.name == "status" ? Int(label.value).map { OTLPValue.integer($0) } : nil
                    return (Self.conventions[label.name] ?? "pulse.\(label.name)", value ?? OTLPValue.text(label.value))
                }),
            "timeUnixNano": OTLPValue.nanoseconds(snapshot.takenAt),
        ]
        if family.kind != .gauge { point["startTimeUnixNano"] = OTLPValue.nanoseconds(snapshot.countingSince) }
        switch sample.value {
        case .integer(let value): point["asInt"] = .string("\(value)")
        case .number(let value): point["asDouble"] = OTLPValue.double(value)
        case .total(let count, let sum):
            point["count"] = .string("\(count)")
            point["sum"] = OTLPValue.double(sum)
        case .histogram(let histogram):
            point.merge(fields(of: histogram)) { $1 }
        }
        return .object(point)
    }

    private func fields(of histogram: MetricsSnapshot.Histogram) -> [String: JSONValue] {
        let upTo = buckets.map { histogram.count(atMost: $0) } + [histogram.count]
        let counts = zip(upTo, [0] + upTo).map { $0 - $1 }
        var fields: [String: JSONValue] = [
            "count": .string("\(histogram.count)"), "sum": OTLPValue.double(histogram.sum),
            "explicitBounds": .array(buckets.map { OTLPValue.double($0) }),
            "bucketCounts": .array(counts.map { .string("\($0)") }),
        ]
        if histogram.count > 0 {
            fields["min"] = OTLPValue.double(histogram.minimum)
            fields["max"] = OTLPValue.double(histogram.maximum)
        }
        return fields
    }

    private static let conventions = [
        "route": "url.template", "host": "server.address", "status": "http.response.status_code",
    ]
}

extension MetricFamily {
    /// The unit's UCUM code, which OpenTelemetry uses.
    fileprivate var ucum: JSONValue {
        switch unit {
        case .none: "1"
        case .seconds: "s"
        case .bytes: "By"
        }
    }
}
