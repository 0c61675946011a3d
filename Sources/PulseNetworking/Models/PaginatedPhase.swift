// SPDX-License-Identifier: MIT

public import PulseCore

/// The phase of a list that loads page by page, for a screen to show.
public enum PaginatedPhase<Items> {
    /// Nothing was requested yet, or the request was cancelled before the first page.
    case idle
    /// The first page is loading.
    case loading
    /// The items of all loaded pages, and whether there are more pages.
    case loaded(Items, hasMore: Bool)
    /// The items, while the next page is loading.
    case loadingMore(Items)
    /// The items, while a new first page is loading, which replaces them all.
    case refreshing(Items)
    /// The last request failed. The items are those of the pages loaded before, or nil if there are none.
    case failure(PulseError, items: Items?)

    /// The items, if a page was loaded.
    public var items: Items? {
        switch self {
        case .loaded(let items, _), .loadingMore(let items), .refreshing(let items): items
        case .failure(_, let items): items
        case .idle, .loading: nil
        }
    }

    /// The failure of the last request, until the next one starts.
    public var error: PulseError? {
        if case .failure(let error, _) = self { error } else { nil }
    }

    /// Whether a page is loading: ``loading``, ``loadingMore(_:)`` or ``refreshing(_:)``.
    public var isLoading: Bool {
        switch self {
        case .loading, .loadingMore, .refreshing: true
        case .idle, .loaded, .failure: false
        }
    }
}

extension PaginatedPhase: Sendable where Items: Sendable {}
