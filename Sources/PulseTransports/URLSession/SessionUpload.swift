// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

#if canImport(FoundationNetworking)

/// Foundation has no pair of bound streams on Linux.
final class SessionUpload: Sendable {
    static let isSupported = false

    init(
        _ body: RequestBody.Stream, _ progress: (@Sendable (TransferProgress) -> Void)?,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {}

    func open() -> InputStream? { nil }
    func end() {}
}

#else

/// Feeds the producer's body into the stream that a task of `URLSession` reads from.
///
/// The stream's events drive it: nothing here blocks on the server, and the producer waits in its pipe.
final class SessionUpload: NSObject, StreamDelegate, @unchecked Sendable {
    // Unchecked: all mutable state is confined to the queue.

    static let isSupported = true
    private static let bufferSize = 64 << 10

    private let body: RequestBody.Stream
    private let progress: (@Sendable (TransferProgress) -> Void)?
    private let onFailure: @Sendable (any Error) -> Void
    private let queue = DispatchQueue(label: "PulseNetworking.URLSession.upload")
    private var pipe: BytePipe?
    private var feeding: BodyFeed.Feeding?
    private var output: OutputStream?
    /// Bytes taken from the pipe that the stream has not accepted yet.
    private var rest: ArraySlice<UInt8> = []
    private var hasEnded = false

    /// - Parameter onFailure: receives the reason why the body cannot be completed.
    init(
        _ body: RequestBody.Stream, _ progress: (@Sendable (TransferProgress) -> Void)?,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        self.body = body
        self.progress = progress
        self.onFailure = onFailure
    }

    /// The stream for the task to read; nil the second time, since only the client resends requests.
    func open() -> InputStream? {
        queue.sync { hasEnded || pipe != nil ? nil : begin() }
    }

    /// Stops feeding. It does not close the stream: the server would take a truncated body for a complete one. The
    /// stream closes when this object is released, which must be after its task.
    func end() {
        queue.async { self.stop() }
    }

    private func begin() -> InputStream? {
        var input: InputStream?
        Stream.getBoundStreams(withBufferSize: Self.bufferSize, inputStream: &input, outputStream: &output)
        do {
            guard let upload = try BodyFeed(.stream(body), progress: progress), let output else { return nil }
            let pipe = BodyFeed.pipe { [weak self] in
                self?.wake()
            }
            self.pipe = pipe
            feeding = upload.start(into: pipe)
            output.delegate = self
            CFWriteStreamSetDispatchQueue(output, queue)
            output.open()
            return input
        } catch {
            onFailure(error)
            return nil
        }
    }

    private func wake() {
        queue.async { self.pump() }
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        // Runs on the queue. The task reports an end of the reader.
        if event == .hasSpaceAvailable { pump() }
    }

    private func pump() {
        while !hasEnded, let output, output.hasSpaceAvailable {
            if rest.isEmpty {
                switch fill() {
                case .bytes: break
                case .nothingYet: return
                case .end:
                    stop()
                    return output.close()
                case .failed(let error):
                    stop()
                    return onFailure(error)
                }
            }
            let count = rest.withUnsafeBufferPointer { bytes in
                bytes.baseAddress.map { output.write($0, maxLength: bytes.count) } ?? 0
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private func fill() -> BytePipe.Portion {
        var portion = BytePipe.Portion.nothingYet
        rest = ArraySlice(
            [UInt8](unsafeUninitializedCapacity: Self.bufferSize) { buffer, count in
                portion = pipe?.take(into: UnsafeMutableRawBufferPointer(buffer)) ?? .end
                if case .bytes(let taken) = portion { count = taken }
            })
        return portion
    }

    private func stop() {
        hasEnded = true
        feeding?.end()
        feeding = nil
        guard let output else { return }
        output.delegate = nil
        CFWriteStreamSetDispatchQueue(output, nil)
    }

    deinit {
        output?.close()
    }
}

#endif
