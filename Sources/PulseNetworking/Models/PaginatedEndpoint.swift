// SPDX-License-Identifier: MIT

public import PulseCore

/// One page of a list whose items a ``PagedModel`` collects.
///
/// ```swift
/// extension Orders: PaginatedEndpoint {
///     func items(of response: OrderPage) -> [Order] { response.orders }
/// }
/// ```
public protocol PaginatedEndpoint: PagedEndpoint {
    /// The items of all pages together. If its elements are `Identifiable`, each is listed once.
    associatedtype Items: RangeReplaceableCollection & Sendable where Items.Element: Sendable

    /// The items of one page. By default the response itself, if it is such a collection.
    func items(of response: Response) -> Items
}

extension PaginatedEndpoint where Response: RangeReplaceableCollection {
    public func items(of response: Response) -> Response { response }
}
