// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
/// Actions to perform after the driver's lock is released: no callback runs under the lock.
final class CurlDeferredActions: @unchecked Sendable {
    // Unchecked: used only under the driver's lock.

    enum Step: Sendable {
        /// A transfer has ended and left libcurl.
        case end(CurlTransfer, Result<Void, any Error>)
        /// The head of a streamed response is available.
        case resume(CurlReplySlot.Waiter)
        case pipe(BytePipe.Resumption)

        func perform() {
            switch self {
            case .end(let transfer, let outcome): transfer.finish(outcome)
            case .resume(let waiter): waiter.resume()
            case .pipe(let resumption): resumption.perform()
            }
        }
    }

    private var steps: [Step] = []

    func add(_ step: Step) {
        steps.append(step)
    }

    /// All steps so far, in order.
    func take() -> [Step] {
        defer { steps = [] }
        return steps
    }
}
#endif
