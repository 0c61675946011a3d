// SPDX-License-Identifier: MIT

extension PulseResponse {
    /// The body of a response. The delivery of the request decides its form.
    public enum Body: Sendable {
        /// All bytes in memory; no bytes if the response has no body.
        case buffered(Data)
        /// The bytes as they arrive. A stream can be read once.
        case stream(ByteStream)
        /// The file that a download was written to.
        case file(URL)
        /// The connection, which no longer carries HTTP.
        case connection(any DuplexConnection)
        /// No body: it was lost, exceeds the call's limit, or is not encoded as its header fields say.
        ///
        /// Only a response that is handled by its status alone has this form: a redirect to follow, or a status that
        /// the call does not accept. Any other call fails with this error.
        indirect case failed(PulseError)

        /// Whether the body still uses the network.
        fileprivate var isOpen: Bool {
            switch self {
            case .stream, .connection: true
            case .buffered, .file, .failed: false
            }
        }
    }

    /// The bytes of a buffered body; empty for any other. Setting them makes the body buffered.
    public var data: Data {
        get {
            if case .buffered(let data) = body { data } else { Data() }
        }
        // Moves the bytes out and back, so that they are changed in place: a setter would copy them.
        _modify {
            var data = data
            body = .buffered(Data())
            defer { body = .buffered(data) }
            yield &data
        }
    }

    /// The body of a streamed response, which can be read once; nil for any other.
    public var bytes: ByteStream? {
        if case .stream(let stream) = body { stream } else { nil }
    }

    /// The file with the body of a downloaded response; nil for any other.
    public var file: URL? {
        if case .file(let file) = body { file } else { nil }
    }

    /// The connection of a response after which it no longer carries HTTP, such as a 101; nil for any other.
    public var connection: (any DuplexConnection)? {
        if case .connection(let connection) = body { connection } else { nil }
    }

    /// Releases the resources of an unwanted body: cancels a stream, closes a connection. Does nothing to a buffered or
    /// failed body or a file. May be called several times.
    public func discard() {
        switch body {
        case .stream(let stream): stream.cancel()
        case .connection(let connection): connection.close()
        case .buffered, .file, .failed: break
        }
    }

    /// Discards the response that `other` replaces, unless `other` has a stream or a connection. That may wrap the
    /// stream or connection of this response, which then stays open.
    package func discard(replacedBy other: PulseResponse) {
        if !other.body.isOpen { discard() }
    }
}

extension PulseResponse.Body: CustomStringConvertible, CustomReflectable {
    /// The kind of body and its size if it is known, never its content or a path.
    public var description: String {
        switch self {
        case .buffered(let data): "\(data.count) bytes"
        case .stream: "a stream"
        case .file: "a file"
        case .connection: "a connection"
        case .failed(let error): "a body that failed (\(error.kind))"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
