// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// A serial queue for work on files, outside of Swift's cooperative thread pool, where it would delay every call of the
/// process.
///
/// A job always runs, even if its caller is cancelled: a removal must not be dropped.
package struct SerialDiskQueue: Sendable {
    private let queue: DispatchQueue

    package init(_ label: String) {
        queue = DispatchQueue(label: label)
    }

    package func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result(catching: body)) }
        }
    }

    package func begin(_ body: @escaping @Sendable () -> Void) {
        queue.async(execute: body)
    }
}
