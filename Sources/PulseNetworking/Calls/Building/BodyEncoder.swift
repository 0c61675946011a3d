// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// Encodes a body to bytes, or to a file or stream that is read during the upload.
struct BodyEncoder: Sendable {
    struct Encoded {
        var source = PluginContext.Body.inRequest
        var bytes: Data?
        var contentType: String?
        /// Whether the content type names a boundary, which must be the one in the body.
        var isForm = false
    }

    let randomness: any Randomness

    /// Encodes a body. Throws ``PulseError/encodingFailed(underlying:)`` before anything is sent, also for a missing
    /// file.
    ///
    /// - Parameter declared: the request's own `Content-Type`. It takes precedence; a multipart type without a boundary
    ///   gets the form's.
    func encode(
        _ body: RequestBody, using encoder: any RequestEncoder, declaredAs declared: String? = nil
    ) throws -> Encoded {
        do {
            switch body.content {
            case .none:
                return Encoded()
            case .json(let value):
                return Encoded(bytes: try encoder.encode(value), contentType: body.contentType ?? encoder.contentType)
            case .encoded(let encode):
                return Encoded(bytes: try encode(), contentType: body.contentType)
            case .data(let data):
                return Encoded(bytes: data, contentType: body.contentType)
            case .file(let url):
                try Self.check(url)
                return Encoded(source: .file(url), contentType: body.contentType)
            case .stream(let stream):
                return Encoded(source: .stream(stream), contentType: body.contentType)
            case .multipart(let form):
                return try encode(form, declaredAs: declared)
            case .operation:
                throw PulseError.invalidRequest(reason: "an operation is sent by an endpoint of its own")
            }
        } catch {
            throw error as? PulseError ?? PulseError.encodingFailed(underlying: error)
        }
    }

    private static func check(_ file: URL) throws {
        do {
            let target = file.resolvingSymlinksInPath()
            guard try target.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else {
                throw CocoaError(.fileReadUnknown)
            }
        } catch {
            throw FileFault.naming(error, file)
        }
    }

    /// Encodes a form. A form of data parts becomes bytes; a form with a file becomes a stream, which is reopened for
    /// each attempt. The boundary is taken from the declared content type, or added to it.
    private func encode(_ form: MultipartFormData, declaredAs declared: String?) throws -> Encoded {
        let isMultipart = declared?.asciiLowercased.hasPrefix("multipart/") == true
        let own = isMultipart ? declared.flatMap { MultipartFormData.boundary(in: $0) } : nil
        let boundary = own ?? MultipartFormData.boundary(using: randomness)
        let encoded = try form.encode(boundary: boundary)
        let contentType =
            if let declared, own != nil || !isMultipart {
                declared
            } else if let declared {
                declared.trimmingCharacters(in: CharacterSet(charactersIn: "; \t")) + "; boundary=" + boundary
            } else {
                MultipartFormData.contentType(boundary: boundary)
            }
        if let data = encoded.data { return Encoded(bytes: data, contentType: contentType, isForm: true) }
        let stream = RequestBody.Stream(length: encoded.length) { ByteStream(reading: encoded.segments) }
        return Encoded(source: .stream(stream), contentType: contentType, isForm: true)
    }
}

extension ByteStream {
    /// Reads the segments in order, files in chunks, on threads that may block. The stream fails if a file's length has
    /// changed since it was measured, because the request has already declared the length.
    fileprivate convenience init(reading segments: [MultipartFormData.Segment]) {
        let reader = Locked<SegmentReader?>(SegmentReader(rest: segments[...]))
        self.init(next: {
            do {
                // Reads without the lock, which a cancelled read would hold as long as its disk hangs. Nothing is read
                // after a cancelled read.
                guard let taken = reader.withLock({ $0.take() }) else { throw CancellationError() }
                let read = { @Sendable () throws -> Data? in
                    var taken = taken
                    let data = try taken.next()
                    reader.withLock { [taken] in $0 = taken }
                    return data
                }
                guard let pool = taken.pool else { return try read() }
                return try await pool.read(read)
            } catch let error where !(error is CancellationError) {
                throw TransportFailure(code: .requestBodyStreamExhausted, phase: .maybeSent, underlying: error)
            }
        })
    }
}

private struct SegmentReader {
    private static let chunkSize = 256 << 10

    var rest: ArraySlice<MultipartFormData.Segment>
    private var open: (handle: FileHandle, missing: Int64, url: URL)?

    init(rest: ArraySlice<MultipartFormData.Segment>) {
        self.rest = rest
    }

    /// The thread pool that reads the next bytes; nil for bytes in memory.
    var pool: BlockingThreadPool? {
        if let open { return .files(of: open.url) }
        guard case .file(let url, _) = rest.first else { return nil }
        return .files(of: url)
    }

    mutating func next() throws -> Data? {
        while true {
            if let file = open {
                let chunk: Data
                do { chunk = try Self.chunk(of: file.handle, file.missing) } catch {
                    throw FileFault.naming(error, file.url)
                }
                open = file.missing == 0 ? nil : (file.handle, file.missing - Int64(chunk.count), file.url)
                if !chunk.isEmpty { return chunk }
            } else {
                switch rest.popFirst() {
                case .bytes(let data): return data
                case .file(let url, let length):
                    do { open = (try FileHandle.reading(url), length, url) } catch {
                        throw FileFault.naming(error, url)
                    }
                case nil: return nil
                }
            }
        }
    }

    private static func chunk(of handle: FileHandle, _ missing: Int64) throws -> Data {
        // Reads one byte past the end to detect a file that has grown.
        let count = missing == 0 ? 1 : Int(min(missing, Int64(chunkSize)))
        let chunk = try handle.read(upToCount: count) ?? Data()
        guard chunk.isEmpty == (missing == 0) else { throw CocoaError(.fileReadCorruptFile) }
        return chunk
    }
}
