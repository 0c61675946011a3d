// SPDX-License-Identifier: MIT

public import PulseCore

/// Writes snapshots in Prometheus' text format, version 0.0.4, for a scraping server or a push gateway.
///
/// ```swift
/// let page = PrometheusText().text(of: await metrics.snapshot())    // as PrometheusText.contentType
/// ```
public struct PrometheusText: Sendable {
    /// The page's `Content-Type`.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"
    /// The default upper bounds of histogram buckets, in seconds, from 5 ms to 10 s.
    public static let defaultBuckets: [TimeInterval] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private let prefix: String
    private let buckets: [TimeInterval]
    private let labels: [(name: String, value: String)]

    /// Creates a writer with a prefix, labels and buckets.
    ///
    /// - Parameter prefix: the prefix of every name, `pulse` by default; empty for none.
    /// - Parameter labels: added to every sample, whose own labels win: an instance, a version. Characters that a name
    ///   must not contain become `_`; values are truncated at 120 bytes. Prometheus' own names (`le`, `quantile` and
    ///   those that begin with `__`) are ignored.
    /// - Parameter buckets: upper bounds in seconds; NaN, infinite bounds and those not above 0 are ignored. A bound is
    ///   accurate to within 1 %.
    public init(
        prefix: String = "pulse", labels: [String: String] = [:],
        buckets: [TimeInterval] = PrometheusText.defaultBuckets
    ) {
        self.prefix = prefix.isEmpty ? "" : Self.name(prefix) + "_"
        self.buckets = HistogramBounds.valid(buckets)
        // Prometheus reads these itself, and rejects the whole page if it cannot.
        var names: Set<String> = ["le", "quantile"]
        self.labels = labels.sorted { $0.key < $1.key }.compactMap { key, value in
            let name = Self.name(key)
            guard !name.hasPrefix("__") else { return nil }
            return names.insert(name).inserted ? (name, SeriesName.shown(value)) : nil
        }
    }

    /// The snapshot as a page of text, to be served as ``contentType``.
    public func text(of snapshot: MetricsSnapshot) -> String {
        snapshot.families.reduce(into: "") { text, family in write(family, to: &text) }
    }

    private func write(_ family: MetricFamily, to text: inout String) {
        let name = prefix + Self.name(family.name) + family.unitSuffix + (family.kind == .counter ? "_total" : "")
        text += "# HELP \(name) \(Self.escaped(family.help))\n# TYPE \(name) \(family.kind.rawValue)\n"
        for sample in family.samples {
            let own = sample.labels
            let shared = labels.filter { label in !own.contains { $0.name == label.name } }
            let labels = own + shared
            switch sample.value {
            case .integer(let value): text += name + Self.list(labels) + " \(value)\n"
            case .number(let value): text += name + Self.list(labels) + " \(Self.number(value))\n"
            case .total(let count, let sum): write(name, labels, count: count, sum: sum, to: &text)
            case .histogram(let histogram):
                for bound in buckets {
                    let label = (name: "le", value: Self.number(bound))
                    text += name + "_bucket" + Self.list(labels + [label]) + " \(histogram.count(atMost: bound))\n"
                }
                text += name + "_bucket" + Self.list(labels + [(name: "le", value: "+Inf")]) + " \(histogram.count)\n"
                write(name, labels, count: histogram.count, sum: histogram.sum, to: &text)
            }
        }
    }

    private func write(
        _ name: String, _ labels: [(name: String, value: String)], count: Int, sum: Double, to text: inout String
    ) {
        text += name + "_sum" + Self.list(labels) + " \(Self.number(sum))\n"
        text += name + "_count" + Self.list(labels) + " \(count)\n"
    }

    // MARK: Formatting

    private static func list(_ labels: [(name: String, value: String)]) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",") + "}"
    }

    /// `[a-zA-Z_][a-zA-Z0-9_]*`
    private static func name(_ text: String) -> String {
        let name = String(
            decoding: text.utf8.map { byte in
                byte.isASCIILetter || byte.isASCIIDigit ? byte : UInt8(ascii: "_")
            }, as: UTF8.self)
        return name.utf8.first.map { $0.isASCIIDigit ? "_" + name : name } ?? "_"
    }

    private static func escaped(_ text: String, quotes: Bool = false) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return Int64(exactly: value).map(String.init) ?? "\(value)"
    }
}

extension MetricFamily {
    fileprivate var unitSuffix: String {
        switch unit {
        case .none: ""
        case .seconds: "_seconds"
        case .bytes: "_bytes"
        }
    }
}

/// The bucket bounds of a histogram for an exporter.
enum HistogramBounds {
    /// The valid bounds: finite, above 0, sorted, without duplicates.
    static func valid(_ bounds: [TimeInterval]) -> [TimeInterval] {
        Set(bounds.filter { $0 > 0 && $0.isFinite }).sorted()
    }
}
