// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

extension PulseClient {
    /// The requests that the models of a client share.
    @MainActor
    public struct RequestStore {
        let client: PulseClient

        private var table: RequestTable { client.requestTable }

        /// Loads the value of a request ahead of its model, unless there is a value. Returns when the call has ended; a
        /// failure is not stored. Cancelling the task cancels the call, unless a model needs it too.
        ///
        /// A model shows the value at once, and does not request it again before its ``RefetchPolicy/staleAfter`` has
        /// passed. A request with a body whose endpoint is not `Hashable` belongs to one model and cannot be
        /// prefetched: the client warns about it.
        ///
        /// - Parameter retention: the seconds for which the value is kept for a model.
        public func prefetch<E: Endpoint>(_ endpoint: E, retention: TimeInterval = 60) async {
            let key = RequestKey(endpoint, owner: 0)
            await prefetch(key, retention, LoadedValue.work(endpoint))
        }

        /// Loads the first page of a list ahead of its ``PagedModel``, as ``prefetch(_:retention:)-swift.method`` does
        /// for a value.
        public func prefetch<E: PaginatedEndpoint>(firstPage endpoint: E, retention: TimeInterval = 60) async {
            let key = RequestKey(endpoint, isPaged: true, owner: 0)
            await prefetch(key, retention, PageList.work(endpoint))
        }

        /// Marks all values of an endpoint type as stale, and requests the visible ones again; see ``RefetchPolicy``. A
        /// call in progress restarts, since its response may predate the invalidation.
        public func invalidate<E: Endpoint>(_ type: E.Type) {
            table.invalidate(type)
        }

        /// Cancels all calls of models and drops all values, as for a logout. All models are idle before the first one
        /// is notified, no earlier response changes a model, and streams of phases drop unread phases.
        public func removeAll() {
            table.removeAll()
        }

        func prefetch<Content>(
            _ key: RequestKey, _ retention: TimeInterval, _ work: @escaping SharedRequest<Content>.Work
        ) async {
            guard key.isShared else {
                client.environment.warnOnce(
                    "a request with a body is not prefetched: its endpoint is not Hashable")
                return
            }
            let request = table.request(key, of: client, work)
            let member = table.newMember()
            request.add(member, RefetchPolicy(staleAfter: .infinity, retention: retention), work)
            let reply = Promise<Void>()
            let ticket = request.ask(.fetch, by: member) { _ in reply.fulfill(()) }
            await reply.value {
                Task { @MainActor in request.withdraw(ticket) }
            }
            request.remove(member)
        }
    }
}

extension PulseClient {
    /// The requests that the models of this client share.
    @MainActor
    public var requestStore: RequestStore { RequestStore(client: self) }
}
