// SPDX-License-Identifier: MIT

/// A path written as a literal whose interpolations are raw values: `"/users/\(id)/repos/\(name)"`.
///
/// ``Swift/String/init(path:)`` makes the path. The literal text is percent-encoded path text, as in any endpoint's
/// path, and stays unchanged. Each interpolation fills one segment or a part of one, by the rules of ``PathTemplate``:
/// it is percent-encoded, so it cannot add a segment, a query or a fragment.
public struct PathText: Sendable {
    private let path: String
    private let fault: PulseError?
}

extension PathText: ExpressibleByStringInterpolation {
    public init(stringLiteral path: String) {
        (self.path, fault) = (path, nil)
    }

    /// Creates a path from a literal with interpolations.
    public init(stringInterpolation interpolation: StringInterpolation) {
        path = interpolation.path
        fault = interpolation.fault
    }

    /// Collects the path and encodes each value.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        fileprivate var path = ""
        /// The text with a number in place of each value, safe to show in an error.
        private var template = ""
        private var count = 0
        /// The number of the first value that is empty.
        private var empty: Int?

        /// Creates an empty path with capacity for that much text and that many values.
        public init(literalCapacity: Int, interpolationCount: Int) {
            path.reserveCapacity(literalCapacity + 8 * interpolationCount)
        }

        /// Appends literal text unchanged.
        public mutating func appendLiteral(_ literal: String) {
            path += literal
            template += literal
        }

        /// Appends a raw value, percent-encoded.
        public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            let text = value.description
            count += 1
            if text.isEmpty, empty == nil { empty = count }
            path += PercentEncoding.segment(text)
            template += "{\(count)}"
        }

        fileprivate var fault: PulseError? {
            if let empty { return refusal("the value for {\(empty)} is empty") }
            let end = path.utf8.firstIndex(of: UInt8(ascii: "?")) ?? path.endIndex
            guard PercentEncoding.containsDotSegment(String(path[..<end])) else { return nil }
            return refusal("the values make a dot segment")
        }

        private func refusal(_ reason: String) -> PulseError {
            .invalidRequest(reason: "path \(template): \(reason)")
        }
    }
}

extension PathText {
    fileprivate func get() throws -> String {
        if let fault { throw fault }
        return path
    }
}

extension PathText: CustomStringConvertible, CustomReflectable {
    /// The path, or the reason why it is invalid.
    public var description: String { fault.map { "\($0)" } ?? path }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension String {
    /// Creates a path in which each interpolation is one encoded segment, or a part of one:
    /// `try String(path: "/users/\(id)/repos/\(name)")`.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` for a value that is empty or makes the segment `.` or `..`; its
    /// text never shows a value.
    public init(path: PathText) throws {
        self = try path.get()
    }
}
