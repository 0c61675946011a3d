// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseClient {
    /// The requests that the models of a client share.
    @MainActor
    public struct RequestStore {
        let client: PulseClient

        private var table: RequestTable { client.requestTable }

        /// Loads the value of a request ahead of its model, unless there is one. Returns when the call has ended; a
        /// failure leaves nothing behind. Cancelling the task cancels the call, unless a model wants it, too.
        ///
        /// A model shows the value at once, and does not request it again while its ``RefetchPolicy/staleAfter`` lasts.
        /// An endpoint with a body that is not `Hashable` belongs to one model, so that it cannot be prefetched: the
        /// client warns of it.
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

        /// Makes all values of that type of endpoint stale, and requests the visible ones again, see ``RefetchPolicy``.
        /// A call in progress starts again, since its response may be from before.
        public func invalidate<E: Endpoint>(_ type: E.Type) {
            table.invalidate(type)
        }

        /// Cancels all calls of models and drops all values, as for a logout. All models are idle before the first is
        /// told of it, no earlier response changes one, and streams of phases drop what was not read.
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
            let reply = PendingReply<Void>()
            let ticket = request.ask(.fetch, by: member) { _ in reply.give(()) }
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
    public var requests: RequestStore { RequestStore(client: self) }
}
