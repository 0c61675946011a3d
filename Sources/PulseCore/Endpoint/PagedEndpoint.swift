// SPDX-License-Identifier: MIT

/// One page of a list, which knows how to ask for the page after it.
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
    /// Returns the request for the page after that one, or nil after the last page. An error that it throws ends the
    /// walk.
    func next(after page: DecodedResponse<Response>) throws -> Self?
}
