// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// A queue for work on files, one piece after the other in order: beside Swift's few threads, where it would hold up
/// every call of the process.
///
/// A piece that was handed over is done, even if its caller is cancelled: a removal must not be left out.
struct SerialDiskQueue: Sendable {
    private let queue: DispatchQueue

    init(_ label: String) {
        queue = DispatchQueue(label: label)
    }

    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result(catching: body)) }
        }
    }

    func begin(_ body: @escaping @Sendable () -> Void) {
        queue.async(execute: body)
    }
}
