// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
/// What is left to do once the driver's lock is given back: nobody is told anything under it.
final class CurlDeferredActions: @unchecked Sendable {
    // Unchecked: used under the driver's lock only.

    enum Step: Sendable {
        /// A transfer has ended and left libcurl.
        case end(CurlTransfer, Result<Void, any Error>)
        /// The head of a stream is there.
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

    /// All steps so far, in their order.
    func take() -> [Step] {
        defer { steps = [] }
        return steps
    }
}
#endif
