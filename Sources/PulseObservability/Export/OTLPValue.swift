// SPDX-License-Identifier: MIT

import PulseCore

/// The building blocks of OTLP's JSON. It uses proto3's JSON mapping, in which 64-bit integers are strings, with OTLP's
/// own rules: enumerations are numbers, and the ids of traces and spans are hexadecimal.
enum OTLPValue {
    static let scope: JSONValue = ["name": "PulseKit"]

    static func resource(_ resource: OTLPUpload.Resource) -> JSONValue {
        ["attributes": attributes(resource.attributes.sorted { $0.key < $1.key }.map { ($0.key, text($0.value)) })]
    }

    static func attributes(_ attributes: [(String, JSONValue)]) -> JSONValue {
        .array(attributes.map { ["key": .string($0), "value": $1] })
    }

    static func text(_ text: String) -> JSONValue { ["stringValue": .string(EventText.shown(text))] }

    static func integer(_ value: Int) -> JSONValue { ["intValue": .string("\(value)")] }

    static func number(_ value: Double) -> JSONValue { ["doubleValue": double(value)] }

    /// A number. NaN and infinities, which JSON lacks, are written as in proto3's JSON mapping.
    static func double(_ value: Double) -> JSONValue {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "Infinity" : "-Infinity" }
        return .number(value)
    }

    /// Nanoseconds since 1970, as a string. An earlier date, or one beyond the range, is clamped.
    static func nanoseconds(_ date: Date) -> JSONValue {
        .string("\(clamped(date.timeIntervalSince1970))")
    }

    /// The time `seconds` after a date. Added as integers: a double of today's nanoseconds has steps of 256.
    static func nanoseconds(_ date: Date, plus seconds: TimeInterval) -> JSONValue {
        let (sum, overflows) = clamped(date.timeIntervalSince1970).addingReportingOverflow(clamped(seconds))
        return .string("\(overflows ? UInt64.max : sum)")
    }

    private static func clamped(_ seconds: TimeInterval) -> UInt64 {
        guard seconds > 0 else { return 0 }
        return UInt64(exactly: (seconds * 1e9).rounded()) ?? .max
    }

    static func data(_ value: JSONValue) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return try encoder.encode(value)
        } catch {
            throw PulseError.encodingFailed(underlying: error)
        }
    }
}
