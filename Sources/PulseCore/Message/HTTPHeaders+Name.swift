// SPDX-License-Identifier: MIT

extension HTTPHeaders {
    /// The name of a header field: `response.headers[.contentType]`.
    ///
    /// Names are case-insensitive. An app adds its own:
    /// `extension HTTPHeaders.Name { static let requestID = Self("X-Request-ID") }`.
    public struct Name: Sendable, Hashable, CustomStringConvertible {
        private let text: String

        /// Creates a name from any text; ``HTTPHeaders/validate()`` checks whether it can be sent.
        public init(_ name: String) {
            text = name
        }

        /// The name as written.
        public var description: String { text }

        public static func == (left: Name, right: Name) -> Bool {
            left.text.equalsIgnoringASCIICase(right.text)
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(text.asciiLowercased)
        }
    }

    /// The value of that field: `headers[.contentType]` is the same as `headers["Content-Type"]`.
    public subscript(name: Name) -> String? {
        get { self[name.description] }
        set { self[name.description] = newValue }
    }
}

extension HTTPHeaders.Name {
    /// `Accept` (RFC 9110, section 12.5.1).
    public static let accept = Self("Accept")
    /// `Accept-Encoding` (RFC 9110, section 12.5.3).
    public static let acceptEncoding = Self("Accept-Encoding")
    /// `Accept-Language` (RFC 9110, section 12.5.4).
    public static let acceptLanguage = Self("Accept-Language")
    /// `Age` (RFC 9111, section 5.1).
    public static let age = Self("Age")
    /// `Allow` (RFC 9110, section 10.2.1).
    public static let allow = Self("Allow")
    /// `Authorization` (RFC 9110, section 11.6.2).
    public static let authorization = Self("Authorization")
    /// `Cache-Control` (RFC 9111, section 5.2).
    public static let cacheControl = Self("Cache-Control")
    /// `Content-Disposition` (RFC 6266).
    public static let contentDisposition = Self("Content-Disposition")
    /// `Content-Encoding` (RFC 9110, section 8.4).
    public static let contentEncoding = Self("Content-Encoding")
    /// `Content-Language` (RFC 9110, section 8.5).
    public static let contentLanguage = Self("Content-Language")
    /// `Content-Length` (RFC 9110, section 8.6).
    public static let contentLength = Self("Content-Length")
    /// `Content-Range` (RFC 9110, section 14.4).
    public static let contentRange = Self("Content-Range")
    /// `Content-Type` (RFC 9110, section 8.3).
    public static let contentType = Self("Content-Type")
    /// `Cookie` (RFC 6265, section 4.2).
    public static let cookie = Self("Cookie")
    /// `Date` (RFC 9110, section 6.6.1).
    public static let date = Self("Date")
    /// `ETag` (RFC 9110, section 8.8.3).
    public static let etag = Self("ETag")
    /// `Expires` (RFC 9111, section 5.3).
    public static let expires = Self("Expires")
    /// `Host` (RFC 9110, section 7.2).
    public static let host = Self("Host")
    /// `Idempotency-Key`.
    public static let idempotencyKey = Self("Idempotency-Key")
    /// `If-Match` (RFC 9110, section 13.1.1).
    public static let ifMatch = Self("If-Match")
    /// `If-Modified-Since` (RFC 9110, section 13.1.3).
    public static let ifModifiedSince = Self("If-Modified-Since")
    /// `If-None-Match` (RFC 9110, section 13.1.2).
    public static let ifNoneMatch = Self("If-None-Match")
    /// `Last-Modified` (RFC 9110, section 8.8.2).
    public static let lastModified = Self("Last-Modified")
    /// `Link` (RFC 8288, section 3).
    public static let link = Self("Link")
    /// `Location` (RFC 9110, section 10.2.2).
    public static let location = Self("Location")
    /// `Origin` (RFC 6454, section 7).
    public static let origin = Self("Origin")
    /// `Range` (RFC 9110, section 14.2).
    public static let range = Self("Range")
    /// `Referer` (RFC 9110, section 10.1.3).
    public static let referer = Self("Referer")
    /// `Retry-After` (RFC 9110, section 10.2.3).
    public static let retryAfter = Self("Retry-After")
    /// `Server` (RFC 9110, section 10.2.4).
    public static let server = Self("Server")
    /// `Set-Cookie` (RFC 6265, section 4.1).
    public static let setCookie = Self("Set-Cookie")
    /// `User-Agent` (RFC 9110, section 10.1.5).
    public static let userAgent = Self("User-Agent")
    /// `Vary` (RFC 9110, section 12.5.5).
    public static let vary = Self("Vary")
    /// `WWW-Authenticate` (RFC 9110, section 11.6.1).
    public static let wwwAuthenticate = Self("WWW-Authenticate")
}
