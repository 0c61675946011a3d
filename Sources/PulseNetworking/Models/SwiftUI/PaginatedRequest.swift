// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
import PulseCore
public import SwiftUI

/// The phase of a list that loads page by page, for a view.
///
/// ```swift
/// @PaginatedRequest(GetOrders()) private var orders
/// ```
///
/// `orders` is the ``PaginatedPhase``, `$orders` the ``PagedModel``, for `$orders.loadMore()`. The client comes from
/// `EnvironmentValues.pulseClient`. The wrapper follows its argument as ``APIRequest`` does, and requires the same.
@MainActor
@propertyWrapper
public struct PaginatedRequest<E: PaginatedEndpoint>: @preconcurrency DynamicProperty {
    private let first: E
    private let fetches: Bool
    @StateObject private var model: PagedModel<E>
    @Environment(\.chosenPulseClient) private var client

    /// Creates a request for a list. It sends nothing before the view is shown.
    ///
    /// - Parameters:
    ///   - first: the request for the first page.
    ///   - autoFetch: whether the first page is fetched when the view is first shown, and again when the argument or
    ///     the client changes.
    ///   - refetch: when the list is requested again. The view needs `tracksVisibility(of:)` for it. Only the policy of
    ///     the first view update applies.
    public init(_ first: E, autoFetch: Bool = true, refetch: RefetchPolicy = .manual) {
        self.first = first
        fetches = autoFetch
        _model = StateObject(wrappedValue: PagedModel(first, optional: nil, refetch))
    }

    /// The current phase.
    public var wrappedValue: PaginatedPhase<E.Items> { model.phase }

    /// The model of the list.
    public var projectedValue: PagedModel<E> { model }

    /// Called by SwiftUI before it updates the view.
    public mutating func update() {
        model.update(first, client: client, fetches: fetches)
    }
}
#endif
