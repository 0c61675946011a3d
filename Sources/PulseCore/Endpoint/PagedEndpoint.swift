// SPDX-License-Identifier: MIT

/// A request for one page of a list, which creates the request for the next page.
///
/// ```swift
/// struct Orders: PagedEndpoint {
///     typealias Response = OrderPage
///     var cursor: String?
///     var path: String { "/orders" }
///     var queryParameters: [String: String] { cursor.map { ["cursor": $0] } ?? [:] }
///
///     func next(after page: DecodedResponse<OrderPage>) -> Orders? {
///         page.value.nextCursor.map { Orders(cursor: $0) }
///     }
/// }
/// ```
public protocol PagedEndpoint: Endpoint {
    /// Returns the request for the next page, or nil after the last page. A thrown error ends the iteration.
    func next(after page: DecodedResponse<Response>) throws -> Self?
}
