// SPDX-License-Identifier: MIT

import PulseCore

/// Turns a body into bytes, or into a file or stream that is read while it is sent.
struct BodyEncoder: Sendable {
    struct Encoded {
        var source = BodySource.inRequest
        var bytes: Data?
        var contentType: String?
    }

    let randomness: any Randomness

    /// Throws ``PulseError/encodingFailed(underlying:)`` before anything is sent; a file that is missing is one.
    func encode(_ body: RequestBody, using encoder: any RequestEncoder) throws -> Encoded {
        do {
            switch body.content {
            case .none:
                return Encoded()
            case .json(let value):
                return Encoded(bytes: try encoder.encode(value), contentType: body.contentType ?? encoder.contentType)
            case .form(let text):
                return Encoded(bytes: Data(try text().utf8), contentType: body.contentType)
            case .data(let data):
                return Encoded(bytes: data, contentType: body.contentType)
            case .file(let url):
                _ = try Self.length(of: url)
                return Encoded(source: .file(url), contentType: body.contentType)
            case .stream(let stream):
                return Encoded(source: .stream(stream), contentType: body.contentType)
            case .multipart(let form):
                return try encode(form)
            }
        } catch {
            throw error as? PulseError ?? PulseError.encodingFailed(underlying: error)
        }
    }

    private func encode(_ form: MultipartFormData) throws -> Encoded {
        throw PulseError.unsupported("multipart")
    }

    /// Bytes of a regular file. Throws for anything else.
    static func length(of file: URL) throws -> Int64 {
        let values = try file.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
        guard values.isRegularFile == true, let size = values.fileSize else { throw CocoaError(.fileReadUnknown) }
        return Int64(size)
    }
}
