// SPDX-License-Identifier: MIT

extension PulseConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The settings that distinguish clients, with only the names of headers and query items.
    public var description: String {
        "PulseConfiguration(" + fields.map { "\($0): \($1)" }.joined(separator: ", ") + ")"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror {
        Mirror(self, children: fields.map { (label: $0, value: $1) }, displayStyle: .struct)
    }

    private var fields: [(name: String, text: String)] {
        [
            ("baseURL", baseURL.map { Redaction.standard.url($0) } ?? "none"),
            ("timeout", "\(timeout)"),
            ("connectTimeout", "\(connectTimeout)"),
            ("poolTimeout", "\(poolTimeout)"),
            ("deadline", deadline.map { "\($0)" } ?? "none"),
            ("defaultHeaders", "\(defaultHeaders.keys.sorted())"),
            ("defaultQueryItems", "\(defaultQueryItems.map(\.name))"),
            ("retryPolicy", "\(retryPolicy)"),
            ("trustedOrigins", "\(trustedOrigins.map { Redaction.standard.url($0) })"),
            ("secretHeaders", "\(secretHeaders.sorted())"),
            ("maxBufferedBodySize", "\(maxBufferedBodySize)"),
            ("maxConnectionsPerHost", "\(maxConnectionsPerHost)"),
            ("tls", "\(tls)"),
            ("proxy", "\(proxy)"),
            ("offlineQueuePolicy", "\(offlineQueuePolicy)"),
            ("sslPinningPolicy", sslPinningPolicy == .disabled ? "disabled" : "set"),
            ("redirectPolicy", "\(redirectPolicy)"),
            ("logLevel", "\(logLevel)"),
            ("encoder", "\(type(of: encoder))"),
            ("decoder", "\(type(of: decoder))"),
            ("cookieStore", cookieStore.map { "\(type(of: $0))" } ?? "none"),
            ("connectivity", connectivity.map { "\(type(of: $0))" } ?? "system"),
            ("clock", "\(type(of: clock))"),
            ("randomness", "\(type(of: randomness))"),
        ]
    }
}
