// SPDX-License-Identifier: MIT

/// A request method: a registered one, or any other token that a server understands.
///
/// Methods are case-sensitive (RFC 9110, section 9.1).
public struct HTTPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name as it is sent, such as `GET`.
    public let rawValue: String

    /// Creates a method of that name, or nil if the name is not a token (RFC 9110, section 5.6.2). A space or a line
    /// break in a method would allow request injection.
    public init?(rawValue: String) {
        guard rawValue.isHTTPToken else { return nil }
        self.rawValue = rawValue
    }

    private init(registered: String) {
        rawValue = registered
    }

    /// GET: read the resource (RFC 9110, section 9.3.1).
    public static let get = HTTPMethod(registered: "GET")
    /// HEAD: like GET, without the body of the response (RFC 9110, section 9.3.2).
    public static let head = HTTPMethod(registered: "HEAD")
    /// POST: process the body (RFC 9110, section 9.3.3).
    public static let post = HTTPMethod(registered: "POST")
    /// PUT: replace the resource with the body (RFC 9110, section 9.3.4).
    public static let put = HTTPMethod(registered: "PUT")
    /// PATCH: change a part of the resource (RFC 5789).
    public static let patch = HTTPMethod(registered: "PATCH")
    /// DELETE: remove the resource (RFC 9110, section 9.3.5).
    public static let delete = HTTPMethod(registered: "DELETE")
    /// OPTIONS: ask what the resource supports (RFC 9110, section 9.3.7).
    public static let options = HTTPMethod(registered: "OPTIONS")
    /// TRACE: echo the request as it arrived (RFC 9110, section 9.3.8).
    public static let trace = HTTPMethod(registered: "TRACE")
    /// CONNECT: open a tunnel (RFC 9110, section 9.3.6).
    public static let connect = HTTPMethod(registered: "CONNECT")
    /// QUERY: a safe, idempotent request with a body.
    public static let query = HTTPMethod(registered: "QUERY")

    /// Whether the method asks for no change on the server (RFC 9110, section 9.2.1). False for an unregistered method.
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace, .query: true
        default: false
        }
    }

    /// Whether sending the request twice has the same effect as sending it once (RFC 9110, section 9.2.2). False for an
    /// unregistered method.
    public var isIdempotent: Bool {
        isSafe || self == .put || self == .delete
    }

    public var description: String { rawValue }
}
