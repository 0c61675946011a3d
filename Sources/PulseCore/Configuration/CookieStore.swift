// SPDX-License-Identifier: MIT

/// A client's cookies (RFC 6265). The client reads it for each hop before the plugins run and writes every answer's
/// `Set-Cookie` lines into it; transports know no cookies.
public protocol CookieStore: Sendable {
    /// The value of the `Cookie` header for that URL, or nil.
    func cookieHeader(for url: URL, now: Date) async -> String?
    /// Takes in the `Set-Cookie` lines of an answer from that URL.
    func store(setCookie lines: [String], from url: URL, now: Date) async
}
