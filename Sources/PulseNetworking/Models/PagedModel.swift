// SPDX-License-Identifier: MIT

public import PulseCalls
public import PulseCore

/// Loads a list page by page for a screen, and publishes the phase that the screen shows.
///
/// ```swift
/// let model = PagedModel(GetOrders(), client: client)
/// model.fetch()
/// for await phase in model.phases { render(phase.items ?? []) }
/// ```
///
/// Pages load one at a time. Elements that are `Identifiable` and already listed are dropped. A page that adds nothing
/// loads the next one, at most ten in a row. A next page that was loaded before ends the list, with a
/// ``NetworkEvent/warning(_:)``.
///
/// Triggers and ``RefetchPolicy/every`` do not reload a list that has loaded more than its first page, or is about to:
/// the user would lose their place. ``fetch()``, ``refresh()`` and ``PulseClient/RequestStore/invalidate(_:)`` load the
/// first page again, which replaces the list. Everything else is as for ``RequestModel``: models with the same first
/// page share one list.
@MainActor
public final class PagedModel<E: PaginatedEndpoint> {
    /// The request for the first page.
    public private(set) var endpoint: E
    let core: ModelCore<PageList<E>, PaginatedPhase<E.Items>>

    /// Creates a model. It sends nothing before ``fetch()``, ``refresh()``, ``loadMore()`` or a trigger of its policy.
    public convenience init(_ first: E, client: PulseClient, refetch: RefetchPolicy = .manual) {
        self.init(first, optional: client, refetch)
    }

    /// - Parameter client: nil for ``PulseClient/default``, which is not read before a request starts.
    init(_ first: E, optional client: PulseClient?, _ refetch: RefetchPolicy) {
        endpoint = first
        core = ModelCore(Self.target(first), client, refetch) { PaginatedPhase($0) }
    }

    /// The current phase.
    public var phase: PaginatedPhase<E.Items> { core.phase }

    /// The error of the last call if there are items nevertheless; nil after a success.
    public var refreshError: PulseError? { core.state.content == nil ? nil : core.state.failure }

    /// Whether there are more pages, but the last ten in a row added nothing. Then ``loadMoreIfNeeded()`` does nothing,
    /// and a screen should show a button for ``loadMore()``.
    public var isStalled: Bool { core.state.content?.isExhausted ?? false }

    /// The response with the last page.
    public var response: PulseResponse? { core.state.content?.response }

    /// When the last page was loaded, by the client's clock.
    public var updatedAt: Date? { core.state.content?.date }

    /// The current phase, then every change, until the model is released. Read the stream or drop it, as with
    /// ``RequestModel/phases``.
    public var phases: AsyncStream<PaginatedPhase<E.Items>> { core.updates() }

    /// Loads the first page, which replaces the list, unless the list is fresh. Joins a call in progress; if that loads
    /// the next page of a stale list, the first page follows. The task is like that of ``RequestModel/fetch()``.
    @discardableResult
    public func fetch() -> Task<PaginatedPhase<E.Items>, Never> { core.ask(.fetch) }

    /// Requests a new first page from the server, which replaces the list, as ``RequestModel/refresh()`` does. Cancels
    /// ``loadMore()``.
    @discardableResult
    public func refresh() -> Task<PaginatedPhase<E.Items>, Never> { core.ask(.refresh) }

    /// Loads the next page, or the first if there is none; does nothing after the last. Joins a call in progress.
    ///
    /// After a failure, it retries the failed load: after a failed ``refresh()``, the first page. Rows that appear call
    /// ``loadMoreIfNeeded()`` instead.
    @discardableResult
    public func loadMore() -> Task<PaginatedPhase<E.Items>, Never> { core.ask(.more) }

    /// Loads the next page as ``loadMore()`` does, but not before the first page, after a failure, or while the list
    /// ``isStalled``. Call it when the last row appears: ``loadMore()`` would retry each time the list is drawn.
    public func loadMoreIfNeeded() {
        guard core.state.failure == nil, core.state.content != nil, !isStalled else { return }
        loadMore()
    }

    /// Leaves the call in progress, which is cancelled if no other model needs it.
    public func cancel() { core.cancel() }

    /// Marks the model as visible, as ``RequestModel/appear()`` does.
    public func appear() { core.appear() }

    /// Marks the model as no longer shown by a screen. A call in progress continues.
    public func disappear() { core.disappear() }

    /// Shows another list in place of this one, as ``RequestModel/follow(_:keepingValue:)`` does.
    ///
    /// - Parameter keepingValue: whether the items stay until the other list has some. By default they are dropped.
    public func follow(_ first: E, keepingValue: Bool = false) {
        endpoint = first
        core.follow(Self.target(first), keepingContent: keepingValue)
    }

    /// Follows the argument of a property wrapper during a view update.
    func update(_ first: E, client: PulseClient?, fetches: Bool) {
        endpoint = first
        core.update(Self.target(first), client: client, keepingContent: false, fetches: fetches)
    }

    private static func target(_ first: E) -> ModelCore<PageList<E>, PaginatedPhase<E.Items>>.Target {
        .init(first, isPaged: true, work: PageList.work(first))
    }
}

extension PaginatedPhase where Items: Sendable {
    init<E: PaginatedEndpoint>(_ state: RequestState<PageList<E>>) where E.Items == Items {
        switch (state.loading, state.content) {
        case (.more, let list?): self = .loadingMore(list.items)
        case (_?, let list?): self = .refreshing(list.items)
        case (_?, nil): self = .loading
        case (nil, let list):
            if let failure = state.failure {
                self = .failure(failure, items: list?.items)
            } else {
                self = list.map { .loaded($0.items, hasMore: $0.hasMore) } ?? .idle
            }
        }
    }
}
