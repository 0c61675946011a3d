// SPDX-License-Identifier: MIT

import PulseCore

/// Work that waits for a disk or computes for long, run beside Swift's few threads, where it would hold up every call
/// of the process. A few such pieces run at a time, the others wait.
package struct BlockingWork: Sendable {
    private static var chunkSize: Int { 256 << 10 }

    private let end = Cancellation()

    /// Runs `body` there, and returns its result.
    ///
    /// If the task, or the call that `cancellation` belongs to, is cancelled, work that has not begun is left out, and
    /// ``checkCancellation()`` throws in work under way. Throws `CancellationError`, and what `body` throws.
    package static func run<Value: Sendable>(
        _ cancellation: Cancellation?, _ body: @escaping @Sendable (BlockingWork) throws -> Value
    ) async throws -> Value {
        try await run(cancellation, on: .shared, body)
    }

    static func run<Value: Sendable>(
        _ cancellation: Cancellation?, on lanes: BlockingThreadPool,
        _ body: @escaping @Sendable (BlockingWork) throws -> Value
    ) async throws -> Value {
        let work = BlockingWork()
        let waiter = Waiter<Value>()
        return try await withCancellation(cancellation) {
            try await withCheckedThrowingContinuation { continuation in
                guard waiter.wait(continuation) else { return continuation.resume(throwing: CancellationError()) }
                lanes.begin { waiter.leave()?.resume(with: Result { try body(work) }) }
            }
        } onCancel: {
            work.end.cancel()
            waiter.leave()?.resume(throwing: CancellationError())
        }
    }

    /// Throws `CancellationError` if nobody waits for the work any more.
    package func checkCancellation() throws {
        if end.isCancelled { throw CancellationError() }
    }

    /// Reads a file from its start to its end, in pieces that are not empty and gone when `body` returns. Throws what
    /// opening, reading or `body` throws, and `CancellationError`.
    // Not by FileHandle's own reading: on Apple platforms each piece would stay until the thread drains its pool.
    package func forEachChunk(of file: URL, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let handle = try FileHandle(forReadingFrom: file)
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
