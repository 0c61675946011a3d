// SPDX-License-Identifier: MIT

/// A request method: one of the registered ones, or any other token a server understands.
///
/// Methods are case-sensitive (RFC 9110, section 9.1).
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// A method of that name, or nil if the name is not a token (RFC 9110, section 5.6.2): a space or a line break in
    /// a method would let its author write the rest of the request.
    public init?(rawValue: String) {
        guard rawValue.isHTTPToken else { return nil }
        self.rawValue = rawValue
    }

    private init(registered: String) {
        rawValue = registered
    }

    public static let get = HTTPMethod(registered: "GET")
    public static let head = HTTPMethod(registered: "HEAD")
    public static let post = HTTPMethod(registered: "POST")
    public static let put = HTTPMethod(registered: "PUT")
    public static let patch = HTTPMethod(registered: "PATCH")
    public static let delete = HTTPMethod(registered: "DELETE")
    public static let options = HTTPMethod(registered: "OPTIONS")
    public static let trace = HTTPMethod(registered: "TRACE")
    public static let connect = HTTPMethod(registered: "CONNECT")
    /// A safe, idempotent request with a body (the HTTP QUERY method).
    public static let query = HTTPMethod(registered: "QUERY")

    /// The client asks for no change on the server (RFC 9110, section 9.2.1). False for an unregistered method.
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace, .query: true
        default: false
        }
    }

    /// Sent twice, it has the effect of once (RFC 9110, section 9.2.2). False for an unregistered method.
    public var isIdempotent: Bool {
        isSafe || self == .put || self == .delete
    }

    public var description: String { rawValue }
}
