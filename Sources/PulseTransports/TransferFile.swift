// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// A file to upload.
struct FileSource: Sendable {
    let length: Int64
    private let handle: FileHandle
    private let pool: BlockingThreadPool

    /// Opens the file, so that a missing file fails before anything is sent. Throws ``TransportFailure``, and
    /// `CancellationError`.
    init(_ url: URL) async throws {
        pool = .files(of: url)
        do {
            (handle, length) = try await pool.read { try Self.open(url) }
        } catch let error where !(error is CancellationError) {
            let code: URLError.Code = Self.lacksDescriptors(error) ? .resourceUnavailable : .cannotOpenFile
            throw TransportFailure(code: code, phase: .beforeSend, underlying: FileFault.naming(error, url))
        }
    }

    private static func open(_ url: URL) throws -> (FileHandle, Int64) {
        let handle = try FileHandle.reading(url)
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory), !isDirectory.boolValue
        else { throw CocoaError(.fileReadUnknown) }
        let length = try Int64(handle.seekToEnd())
        try handle.seek(toOffset: 0)
        return (handle, length)
    }

    /// Whether the process or the system cannot open more files.
    static func lacksDescriptors(_ error: any Error) -> Bool {
        let error = error as NSError
        if error.domain == NSPOSIXErrorDomain { return [Int(EMFILE), Int(ENFILE)].contains(error.code) }
        return (error.userInfo[NSUnderlyingErrorKey] as? NSError).map { lacksDescriptors($0) } ?? false
    }

    /// The next bytes; nil at the end.
    func read(upTo count: Int) async throws -> Data? {
        try await pool.read { [handle] () -> Data? in
            guard let data = try handle.read(upToCount: count), !data.isEmpty else { return nil }
            return data
        }
    }
}

/// A file that receives a response's body. Its disk writes never block a thread of Swift's pool, and a cancelled task
/// soon stops waiting for a disk that hangs. After that, nothing more is written.
struct FileSink {
    /// Smaller pieces are merged, since each write costs two thread switches.
    private static let pieceSize = 256 << 10

    private let url: URL
    private let handle: FileHandle
    private let offset: Int64
    private let pool: BlockingThreadPool
    private let clock: any PulseClock

    /// Opens the file, or creates it for its user only, and truncates it at the offset. Throws ``TransportFailure``,
    /// including when the file ends before the offset: the bytes in between would never be fetched.
    init(_ url: URL, offset: Int64, clock: any PulseClock = .system) async throws {
        self.url = url
        self.offset = offset
        self.clock = clock
        pool = .files(of: url)
        let isAbandoned = Locked(false)
        do {
            handle = try await pool.abandonableAfterGrace(clock) {
                try Self.open(url, offset: UInt64(max(0, offset)), unless: isAbandoned)
            }
        } catch {
            isAbandoned.withLock { $0 = true }
            throw Self.failure(error, url)
        }
    }

    private static func open(_ url: URL, offset: UInt64, unless isAbandoned: Locked<Bool>) throws -> FileHandle {
        let descriptor = systemOpen(url.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // By now the file may belong to a later download.
        if isAbandoned.withLock({ $0 }) { throw CancellationError() }
        guard try handle.seekToEnd() >= offset else { throw CocoaError(.fileWriteUnknown) }
        try handle.truncate(atOffset: offset)
        try handle.seek(toOffset: offset)
        return handle
    }

    /// Writes the whole stream. The bytes received before an error stay in the file.
    func take(
        _ stream: ByteStream, total: Int64?, _ progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws {
        var received: Int64 = 0
        var piece = Data()
        do {
            for try await chunk in stream {
                if piece.isEmpty { piece = chunk } else { piece.append(chunk) }
                if piece.count >= Self.pieceSize {
                    try await write(piece)
                    piece = Data()
                }
                received += Int64(chunk.count)
                progress?(TransferProgress(completed: received, total: total, behind: offset))
            }
        } catch let error where !(error is TransportFailure) {
            try? await write(piece)
            throw error
        }
        try await write(piece)
        if received == 0 { progress?(TransferProgress(completed: 0, total: 0, behind: offset)) }
        do {
            try await pool.abandonableAfterGrace(clock) { [handle] in try handle.close() }
        } catch {
            throw Self.failure(error, url)
        }
    }

    private func write(_ piece: Data) async throws {
        guard !piece.isEmpty else { return }
        do {
            try await pool.abandonableAfterGrace(clock) { [handle] in try handle.write(contentsOf: piece) }
        } catch {
            throw Self.failure(error, url)
        }
    }

    private static func failure(_ error: any Error, _ file: URL) -> TransportFailure {
        let code: URLError.Code = FileSource.lacksDescriptors(error) ? .resourceUnavailable : .cannotWriteToFile
        return TransportFailure(
            code: code, phase: .responseStarted, underlying: FileFault.naming(error, file))
    }
}

extension TransferProgress {
    /// The progress of a body that continues existing bytes. A total beyond 64 bits, which a server may declare, counts
    /// as unknown.
    init(completed: Int64, total: Int64?, behind offset: Int64) {
        let (sum, isBeyond) = offset.addingReportingOverflow(completed)
        let whole = total.map { offset.addingReportingOverflow($0) }
        self.init(
            completed: isBeyond ? .max : sum,
            total: whole.flatMap { $0.overflow ? nil : $0.partialValue })
    }
}

// Avoids the member of the same name.
private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }

extension PulseResponse {
    /// Sets the body that the request asks for: the stream, or a file once the stream is complete.
    mutating func deliver(_ stream: ByteStream, for request: TransportRequest) async throws {
        guard case .file(let file, let offset) = request.delivery else {
            body = .stream(stream)
            return
        }
        let start = try fileOffset(asked: offset)
        let total = bodyLength
        try await withTaskCancellationHandler {
            // With a request body, progress is that of the upload.
            try await FileSink(file, offset: start).take(
                stream, total: total, request.body.isPresent ? nil : request.progress)
        } onCancel: {
            stream.cancel()
        }
        body = .file(file)
        timings = stream.timingsAtEnd?() ?? timings
        trailers = stream.trailersAtEnd?() ?? trailers
    }

    /// The file offset of the body: a partial response goes to the requested offset, a complete one to the start (RFC
    /// 9110, section 14.4).
    func fileOffset(asked offset: Int64) throws -> Int64 {
        guard statusCode == 206 else { return 0 }
        let range = headers["Content-Range"]?.asciiLowercased.split(separator: " ").last ?? ""
        guard Int64(range.prefix { $0 != "-" }) == offset else {
            throw TransportFailure(code: .badServerResponse, phase: .responseStarted)
        }
        return offset
    }

    var bodyLength: Int64? { headers["Content-Length"].flatMap { Int64($0) } }
}
