// SPDX-License-Identifier: MIT

/// A form of named parts, `multipart/form-data` (RFC 7578), in the format that browsers write and servers are tested
/// with.
///
/// ```swift
/// let form = MultipartFormData {
///     $0.append("Ada Lovelace", name: "title")
///     $0.append(fileURL, name: "letter")
/// }
/// ```
///
/// Creating a form reads nothing. A file is opened when it is sent, and read chunk by chunk. Its length is read right
/// before that, so the request has an exact `Content-Length`. Parts are sent byte for byte, line breaks included.
public struct MultipartFormData: Sendable {
    /// The fields in the order in which they are sent; names may repeat (RFC 7578, section 4.3).
    public var parts: [Part]

    /// Creates a form from parts.
    public init(parts: [Part] = []) {
        self.parts = parts
    }

    /// Creates a form by appending its parts in a closure.
    public init(_ build: (inout MultipartFormData) throws -> Void) rethrows {
        self.init()
        try build(&self)
    }

    /// Appends a field or a file of text in UTF-8, by the rules of ``Part/init(name:data:filename:mimeType:)``.
    public mutating func append(_ text: String, name: String, filename: String? = nil, mimeType: String? = nil) {
        append(Data(text.utf8), name: name, filename: filename, mimeType: mimeType)
    }

    /// Appends a field or a file from bytes, by the rules of ``Part/init(name:data:filename:mimeType:)``.
    public mutating func append(_ data: Data, name: String, filename: String? = nil, mimeType: String? = nil) {
        parts.append(Part(name: name, data: data, filename: filename, mimeType: mimeType))
    }

    /// Appends a file on disk, by the rules of ``Part/init(name:file:filename:mimeType:)``.
    public mutating func append(_ file: URL, name: String, filename: String? = nil, mimeType: String? = nil) {
        parts.append(Part(name: name, file: file, filename: filename, mimeType: mimeType))
    }

    /// One field or file.
    public struct Part: Sendable {
        /// The name of the field. A name that contains NUL makes the request fail with
        /// ``PulseError/invalidRequest(reason:)``.
        public let name: String
        /// The file name that is sent to the server; nil for a plain field.
        public let filename: String?
        /// The `Content-Type` of the part; nil omits it, and the server assumes text.
        public let mimeType: String?
        package let content: Content

        package enum Content: Sendable {
            case data(Data)
            case file(URL)
        }

        /// Creates a field from bytes. With a `filename` the server treats it as a file, and a nil `mimeType` is
        /// guessed from that name. Without a `filename`, `Content-Type` is written only if `mimeType` is given.
        public init(name: String, data: Data, filename: String? = nil, mimeType: String? = nil) {
            self.name = name
            self.filename = filename
            self.mimeType = mimeType ?? filename.map(MIMEType.guess)
            content = .data(data)
        }

        /// Creates a part from a file on disk. It is sent under the file's own name unless `filename` is given. A nil
        /// `mimeType` is guessed from the name.
        public init(name: String, file: URL, filename: String? = nil, mimeType: String? = nil) {
            let filename = filename ?? file.lastPathComponent
            self.name = name
            self.filename = filename
            self.mimeType = mimeType ?? MIMEType.guess(filename: filename)
            content = .file(file)
        }
    }
}
