// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// A thread's worth of work on files, one piece after the other in the order they came: beside Swift's few threads, on one
/// of which it would hold up every call of the process.
///
/// A piece that was handed over is done, whoever is cancelled meanwhile: a removal must not be left out.
struct DiskLane: Sendable {
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
