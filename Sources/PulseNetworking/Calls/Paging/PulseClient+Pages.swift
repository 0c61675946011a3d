// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseClient {
    /// The pages of a list, each loaded by its own call.
    ///
    /// The sequence is lazy: each iterator starts with the first page, and requests a page only when it is needed. A
    /// request that the same iteration has sent before ends it with ``PulseError/transport(_:underlying:)`` of
    /// `badServerResponse`, since the pages form a loop. Two requests are the same if their method, URL, body and
    /// header fields are equal, except for fields whose value the endpoint changes each time. An empty page that has a
    /// next page does not end the iteration.
    ///
    /// After a failure an iterator returns nil.
    public struct Pages<Value: Sendable>: AsyncSequence, Sendable {
        public typealias Element = DecodedResponse<Value>

        private let first: PageRequest<Value>
        private var isPrefetching = false
        private var limit = Int.max

        init(_ first: PageRequest<Value>) {
            self.first = first
        }

        /// The same pages, with one page fetched ahead while the reader processes the previous one. Its error is thrown
        /// when the reader reaches that page. Off by default.
        public func prefetching(_ isOn: Bool = true) -> Pages {
            var copy = self
            copy.isPrefetching = isOn
            return copy
        }

        /// At most the first `count` pages; no more are fetched. A negative limit throws
        /// ``PulseError/invalidRequest(reason:)``.
        public func limited(to count: Int) -> Pages {
            var copy = self
            copy.limit = Swift.min(limit, count)
            return copy
        }

        public func makeAsyncIterator() -> Iterator {
            Iterator(step: .request(first), rest: limit, isPrefetching: isPrefetching)
        }

        /// One iteration over the pages.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate enum Step {
                case request(PageRequest<Value>)
                case after(PageRequest<Value>.Page)
                case prefetched(Prefetch)
                case end
            }

            fileprivate var step: Step
            fileprivate var rest: Int
            fileprivate let isPrefetching: Bool
            private let walk = PageWalk()

            fileprivate init(step: Step, rest: Int, isPrefetching: Bool) {
                self.step = step
                self.rest = rest
                self.isPrefetching = isPrefetching
            }

            /// Returns the next page, or nil after the last. Throws ``PulseError``.
            public mutating func next() async throws -> DecodedResponse<Value>? {
                guard rest >= 0 else {
                    let rest = self.rest
                    self.rest = 0
                    throw PulseError.invalidRequest(reason: "the limit of pages is \(rest)")
                }
                guard rest > 0 else { return nil }
                let current = step
                step = .end
                do {
                    guard let page = try await page(current) else { return nil }
                    rest -= 1
                    if rest > 0 { step = isPrefetching ? .prefetched(Prefetch(after: page, in: walk)) : .after(page) }
                    return page.response
                } catch {
                    throw PulseError(wrapping: error)
                }
            }

            private func page(_ step: Step) async throws -> PageRequest<Value>.Page? {
                switch step {
                case .request(let request): try await request.fetch(walk)
                case .after(let page): try await page.next()?.fetch(walk)
                case .prefetched(let prefetch): try await prefetch.page()
                case .end: nil
                }
            }
        }

        /// A page that is fetched ahead. The fetch is cancelled when the reader is released.
        fileprivate final class Prefetch: Sendable {
            private let task: Task<PageRequest<Value>.Page?, any Error>

            init(after page: PageRequest<Value>.Page, in walk: PageWalk) {
                task = Task { try await page.next()?.fetch(walk) }
            }

            deinit {
                task.cancel()
            }

            func page() async throws -> PageRequest<Value>.Page? {
                try await withTaskCancellationHandler {
                    try await task.value
                } onCancel: {
                    task.cancel()
                }
            }
        }
    }
}

/// The request for one page, without the type of its endpoint.
struct PageRequest<Value: Sendable>: Sendable {
    struct Page: Sendable {
        let response: DecodedResponse<Value>
        /// The request for the page after this one; nil after the last.
        let next: @Sendable () throws -> PageRequest?
    }

    let fetch: @Sendable (PageWalk) async throws -> Page
}

/// The requests sent in one iteration over pages.
final class PageWalk: Sendable {
    private let sent = Locked<Set<RequestFingerprint>>([])
    private let start = Locked<BuiltRequest?>(nil)

    /// The first request.
    var first: BuiltRequest? { start.withLock { $0 } }

    /// Throws if the iteration has sent the request before.
    func check(_ request: BuiltRequest, of endpoint: some Endpoint) throws {
        start.withLock { $0 = $0 ?? request }
        guard let fingerprint = RequestFingerprint(request, of: endpoint) else { return }
        guard sent.withLock({ $0.insert(fingerprint).inserted }) else {
            throw PageFault.failure("the next page is one that was fetched before")
        }
    }
}

/// A fault in a page's link to the next page.
package struct PageFault: Error, CustomStringConvertible {
    package let description: String

    package static func failure(_ text: String) -> TransportFailure {
        TransportFailure(
            code: .badServerResponse, phase: .responseStarted, underlying: PageFault(description: text))
    }
}
