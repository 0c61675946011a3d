// SPDX-License-Identifier: MIT

import PulseCore

/// A body that a task feeds into the upload: a file, a stream, or bytes.
struct BodyFeed: Sendable {
    private static let chunkSize = 256 << 10

    /// In bytes; nil if unknown.
    let length: Int64?
    private let makeStream: @Sendable () async throws -> ByteStream
    private let progress: (@Sendable (TransferProgress) -> Void)?

    /// - Parameter file: the file of a file body, already open, because opening it may take long.
    /// - Returns: nil without a body.
    init?(
        _ body: TransportRequest.Body, _ file: FileSource? = nil, progress: (@Sendable (TransferProgress) -> Void)?
    ) throws {
        switch body {
        case .none:
            return nil
        case .bytes(let data):
            length = Int64(data.count)
            makeStream = { ByteStream(data, chunkSize: Self.chunkSize) }
        case .file:
            guard let file else { throw TransportFailure(code: .cannotOpenFile, phase: .beforeSend) }
            length = file.length
            makeStream = { ByteStream(next: { try await file.read(upTo: Self.chunkSize) }) }
        case .stream(let stream):
            length = stream.length
            makeStream = stream.make
        }
        self.progress = progress
    }

    /// A pipe for the body.
    static func pipe(wake: @escaping @Sendable () -> Void) -> BytePipe {
        BytePipe(capacity: 2 * chunkSize, wake: wake)
    }

    /// The task that feeds the pipe.
    struct Feeding: Sendable {
        fileprivate let task: Task<Void, Never>
        fileprivate let pipe: BytePipe

        /// Stops feeding. It also ends the pipe, because a task that waits for room would otherwise wait forever.
        func end() {
            task.cancel()
            pipe.finish(CancellationError())
        }
    }

    /// Feeds the pipe until the body is complete, or until the pipe ends.
    func start(into pipe: BytePipe) -> Feeding {
        begin()
        let task = Task {
            do {
                try await write { try await pipe.write($0) }
                pipe.finish()
            } catch {
                pipe.finish(Self.failure(of: error))
            }
        }
        return Feeding(task: task, pipe: pipe)
    }

    /// The error of a body's source, without its own claim about what was sent: a part of the request may have been
    /// sent. The underlying error stays as the cause.
    static func failure(of error: any Error) -> any Error {
        guard PulseError(wrapping: error).phase == .beforeSend else { return error }
        return TransportFailure(code: .requestBodyStreamExhausted, phase: .maybeSent, underlying: error)
    }

    /// Reports the progress of an empty body, before the task: the response waits for no byte.
    func begin() {
        if length == 0 { progress?(TransferProgress(completed: 0, total: 0)) }
    }

    /// Writes the whole body in chunks. A body of known length ends with its last byte, even if its source stays open.
    /// Throws the errors of the source and of `write`.
    func write(_ write: (Data) async throws -> Void) async throws {
        var completed: Int64 = 0
        if length == 0 { return }
        let stream = try await makeStream()
        defer { stream.cancel() }
        for try await chunk in stream {
            completed += Int64(chunk.count)
            // Bytes beyond the declared length would pass for the next request on the connection.
            if let length, completed > length { throw Self.wrongLength }
            // Reports no progress after the result.
            try Task.checkCancellation()
            // Reports before writing, so that the last step comes before the server's response. Chunks are short.
            progress?(TransferProgress(completed: completed, total: length))
            try await write(chunk)
            if completed == length { return }
        }
        if let length, completed < length { throw Self.wrongLength }
        if completed == 0, length == nil { progress?(TransferProgress(completed: 0, total: 0)) }
    }

    // Not a constant: the leak checker reports the box of an indirect enum, because its pointer is tagged.
    private static var wrongLength: PulseError {
        .invalidRequest(reason: "the body's length differs from the declared one")
    }
}

extension TransportRequest {
    /// The body for a task to feed; nil without a body, and for bytes up to the limit without a progress handler.
    func feed(_ file: FileSource? = nil, beyond limit: Int = .max) throws -> BodyFeed? {
        if case .bytes(let data) = body, data.count <= limit, progress == nil { return nil }
        return try BodyFeed(body, file, progress: progress)
    }
}

extension ByteStream {
    fileprivate convenience init(_ data: Data, chunkSize: Int) {
        let rest = Locked(data)
        self.init(next: {
            rest.withLock { rest in
                guard !rest.isEmpty else { return nil }
                defer { rest = rest.dropFirst(chunkSize) }
                return rest.prefix(chunkSize)
            }
        })
    }
}
