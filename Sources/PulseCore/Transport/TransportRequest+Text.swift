// SPDX-License-Identifier: MIT

extension TransportRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, redacted URL and kind of body, never a header or the body.
    public var description: String {
        let url = urlRequest.url.map { redaction.url($0) } ?? "(no URL)"
        return "\(urlRequest.httpMethod ?? "GET") \(url), \(body)"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension TransportRequest.Body: CustomStringConvertible, CustomReflectable {
    /// The kind of body and its size, never its content.
    public var description: String {
        switch self {
        case .none: "no body"
        case .bytes(let data): "\(data.count) bytes"
        case .file: "a file"
        case .stream(let stream): stream.length.map { "a stream of \($0) bytes" } ?? "a stream"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
