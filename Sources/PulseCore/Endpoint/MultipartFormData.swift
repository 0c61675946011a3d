// SPDX-License-Identifier: MIT

/// A form of named parts, `multipart/form-data` (RFC 7578), written the way browsers write it, which is what servers
/// are tested with.
///
/// Nothing is read when it is made: a file is opened when it is sent, chunk by chunk, and its length is taken right
/// before, so that the request has an exact `Content-Length`. Parts are sent byte for byte; line breaks in them are
/// not touched.
public struct MultipartFormData: Sendable {
    /// The fields in the order in which they are sent; names may repeat (RFC 7578, section 4.3).
    public var parts: [Part]

    public init(parts: [Part]) {
        self.parts = parts
    }

    /// One field or file.
    public struct Part: Sendable {
        public let name: String
        public let filename: String?
        public let mimeType: String?
        package let content: Content

        package enum Content: Sendable {
            case data(Data)
            case file(URL)
        }

        /// A field. With a `filename` it is a file to the server, and a `mimeType` of nil is guessed from that name;
        /// without one, no Content-Type is written and the server reads text.
        public init(name: String, data: Data, filename: String? = nil, mimeType: String? = nil) {
            self.name = name
            self.filename = filename
            self.mimeType = mimeType ?? filename.map(MIMEType.guess)
            content = .data(data)
        }

        /// A file on disk, under its own name unless another is given; a `mimeType` of nil is guessed from the name.
        public init(name: String, file: URL, filename: String? = nil, mimeType: String? = nil) {
            let filename = filename ?? file.lastPathComponent
            self.name = name
            self.filename = filename
            self.mimeType = mimeType ?? MIMEType.guess(filename: filename)
            content = .file(file)
        }
    }
}
