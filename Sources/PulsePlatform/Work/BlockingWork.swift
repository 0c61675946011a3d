// SPDX-License-Identifier: MIT

import PulseCore

/// Blocking or long-running work, run outside of Swift's cooperative thread pool, where it would delay every call of
/// the process. A few jobs run at a time, the others wait.
package struct BlockingWork: Sendable {
    private static var chunkSize: Int { 256 << 10 }

    private let isCancelled = Locked(false)

    /// Runs `body` on the pool, and returns its result.
    ///
    /// If the task is cancelled, work that has not started is dropped, and ``checkCancellation()`` throws in running
    /// work. Throws `CancellationError`, and the errors of `body`.
    package static func run<Value: Sendable>(
        _ body: @escaping @Sendable (BlockingWork) throws -> Value
    ) async throws -> Value {
        try await run(on: .shared, body)
    }

    /// Runs work that reads a file, and has no other effects. A cancelled caller does not wait for a disk that hangs,
    /// and the work on other directories continues.
    package static func run<Value: Sendable>(
        reading file: URL, _ body: @escaping @Sendable (BlockingWork) throws -> Value
    ) async throws -> Value {
        let work = BlockingWork()
        return try await withTaskCancellationHandler {
            try await lane(of: file).read { try body(work) }
        } onCancel: {
            work.isCancelled.withLock { $0 = true }
        }
    }

    /// Does the same for work with effects: its caller waits for its end.
    package static func run<Value: Sendable>(
        converting file: URL, _ body: @escaping @Sendable (BlockingWork) throws -> Value
    ) async throws -> Value {
        try await run(on: lane(of: file), body)
    }

    /// The width is unlimited: a computation takes long, so the first one does not show whether the disk responds.
    private static func lane(of file: URL) -> BlockingThreadPool {
        BlockingThreadPool.shared.lane(of: file.deletingLastPathComponent().path, width: .max)
    }

    static func run<Value: Sendable>(
        on pool: BlockingThreadPool,
        _ body: @escaping @Sendable (BlockingWork) throws -> Value
    ) async throws -> Value {
        let work = BlockingWork()
        let waiter = Waiter<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard waiter.wait(continuation) else { return continuation.resume(throwing: CancellationError()) }
                pool.begin { waiter.take()?.resume(with: Result { try body(work) }) }
            }
        } onCancel: {
            work.isCancelled.withLock { $0 = true }
            waiter.take()?.resume(throwing: CancellationError())
        }
    }

    /// Throws `CancellationError` if the work was cancelled.
    package func checkCancellation() throws {
        if isCancelled.withLock({ $0 }) { throw CancellationError() }
    }

    /// Reads a file from start to end in non-empty chunks, which are valid only during `body`. Throws the errors of
    /// opening, reading and `body`, and `CancellationError`.
    // Without FileHandle's own reading: on Apple platforms each chunk would stay in memory until the autorelease pool
    // drains.
    package func forEachChunk(of file: URL, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let handle = try FileHandle.reading(file)
        defer { try? handle.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunkSize, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            try checkCancellation()
            let count = read(handle.fileDescriptor, buffer.baseAddress, buffer.count)
            if count > 0 {
                try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            } else if count == 0 {
                return
            } else if errno != EINTR {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
        }
    }
}
