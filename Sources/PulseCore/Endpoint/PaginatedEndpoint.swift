// SPDX-License-Identifier: MIT

/// A request for one page of a list, which creates the request for the next page.
///
/// ```swift
/// struct Orders: PaginatedEndpoint {
///     typealias Response = OrderPage
///     var cursor: String?
///     var path: String { "/orders" }
///     var queryParameters: [String: String] { cursor.map { ["cursor": $0] } ?? [:] }
///
///     func next(after page: DecodedResponse<OrderPage>) -> Orders? {
///         page.value.nextCursor.map { Orders(cursor: $0) }
///     }
///     func items(of page: OrderPage) -> [Order] { page.orders }
/// }
/// ```
public protocol PaginatedEndpoint: Endpoint {
    /// The items of all pages together. If its elements are `Identifiable`, a model lists each once.
    associatedtype Items: RangeReplaceableCollection & Sendable where Items.Element: Sendable

    /// Returns the request for the next page, or nil after the last page. A thrown error ends the iteration.
    func next(after page: DecodedResponse<Response>) throws -> Self?

    /// The items of one page. By default the response itself, if it is such a collection.
    func items(of response: Response) -> Items
}

extension PaginatedEndpoint where Response: RangeReplaceableCollection {
    public func items(of response: Response) -> Response { response }
}
