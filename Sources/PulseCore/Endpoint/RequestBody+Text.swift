// SPDX-License-Identifier: MIT

extension RequestBody: CustomStringConvertible, CustomReflectable {
    /// The kind of body, never its content.
    public var description: String {
        switch content {
        case .none: "no body"
        case .json(let value): "an encoded \(type(of: value))"
        case .encoded: "an encoded \(contentType ?? "body")"
        case .multipart(let form): "multipart of \(form.parts.count) parts"
        case .data(let data): "\(data.count) bytes"
        case .file: "a file"
        case .stream(let stream): stream.length.map { "a stream of \($0) bytes" } ?? "a stream"
        case .operation: "an operation"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension MultipartFormData.Part: CustomStringConvertible, CustomReflectable {
    /// The name of the field and the kind of its content, never the content.
    public var description: String {
        switch content {
        case .data(let data): "\(name): \(data.count) bytes"
        case .file: "\(name): a file"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
