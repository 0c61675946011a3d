// SPDX-License-Identifier: MIT

extension RequestOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The fields that are set; of headers the names alone, since any of them may be a client's secret.
    public var description: String {
        "RequestOptions(" + fields.map { "\($0): \($1)" }.joined(separator: ", ") + ")"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror {
        Mirror(self, children: fields.map { (label: $0, value: $1) }, displayStyle: .struct)
    }

    private var fields: [(name: String, text: String)] {
        let all: [(String, Any?)] = [
            ("headers", headers?.keys.sorted()), ("timeout", timeout), ("connectTimeout", connectTimeout),
            ("deadline", deadline), ("retry", retry), ("auth", auth), ("cache", cache), ("coalesces", coalesces),
            ("idempotencyKey", idempotencyKey), ("tag", tag), ("route", route), ("priority", priority),
            ("acceptedStatuses", acceptedStatuses), ("decoder", decoder.map { type(of: $0) }),
            ("encoder", encoder.map { type(of: $0) }), ("redirectPolicy", redirectPolicy),
            ("maximumBufferedBodySize", maximumBufferedBodySize), ("queuesBehindPending", queuesBehindPending),
            ("waitsForConnectivity", waitsForConnectivity),
        ]
        return all.compactMap { name, value in value.map { (name, "\($0)") } }
    }
}
