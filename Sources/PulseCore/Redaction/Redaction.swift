// SPDX-License-Identifier: MIT

/// The rules that mask secrets in all output for people: logs, errors, events, cURL, HAR and reports.
///
/// ```swift
/// let redaction = Redaction(secretHeaders: ["X-Tenant-Key"])
/// redaction.headerValue("abc", for: "X-Tenant-Key")  // ***REDACTED***
/// redaction.url("/orders?page=2&token=abc")  // /orders?page=2&token=***REDACTED***
/// ```
///
/// A value is secret because of its name: that of a header, a query item, a form field or a JSON key, or the name that
/// a sibling gives it, as in `{"name": "password", "value": "…"}` and `<input name="password" value="…">`. Credentials
/// with a known form, such as JSON Web Tokens and the keys of well-known services, are secret under any name. Names are
/// compared without regard to ASCII case and punctuation, so `X-API-Key`, `api_key` and `apikey` are equal. A secret is
/// replaced as a whole by ``mask``, which hides even its length. Every function takes linear time, accepts any input,
/// and leaves masked values unchanged.
///
/// In doubt a value is masked: names that merely contain `token`, such as `max_tokens`, are secret too. Two common
/// names stay readable, although some services use them for secrets, because elsewhere they hold anything: `key` and
/// `code`. Add them with ``init(secretHeaders:)`` where needed.
public struct Redaction: Sendable {
    /// The text that replaces a secret.
    public static let mask = "***REDACTED***"

    /// The rules with the standard secret names: `Authorization`, `Proxy-Authorization`, `Cookie`, `Set-Cookie`,
    /// `X-API-Key`, `X-Signature-*`, and names that contain `token`, `secret`, `password` and the like.
    public static let standard = Redaction()

    static let maskBytes = Array(mask.utf8)

    let names: SecretNames

    /// Creates rules with the standard names and `secretHeaders`, which apply to headers and parameters alike.
    public init(secretHeaders: some Sequence<String> = [String]()) {
        names = SecretNames(adding: secretHeaders)
    }

    /// Creates rules with more names; those of `queryItems` are secret only in queries and forms.
    package init(secretHeaders: some Sequence<String>, queryItems: some Sequence<String>) {
        names = SecretNames(adding: secretHeaders, items: queryItems)
    }

    private init(names: SecretNames) {
        self.names = names
    }

    /// These rules with additional names.
    package func adding(_ names: some Sequence<String>) -> Redaction {
        Redaction(names: self.names.adding(names))
    }

    /// These rules with the additional names of `other`.
    package func adding(_ other: Redaction) -> Redaction {
        other.hasOwnNames ? Redaction(names: names.adding(other.names)) : self
    }

    /// Whether there are names beyond the standard ones.
    package var hasOwnNames: Bool { names.hasOwn }

    /// Whether a value of that name is secret. Allocates nothing, since it is called for every header of every request.
    public func isSecret(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { names.contains($0) }
    }

    /// Whether a header holds a secret: in the value of a secret name, or within another value.
    package func isSecret(_ name: String, value: String) -> Bool {
        if isSecret(name) { return true }
        let bytes = Array(value.utf8)
        return SecretScanner.masked(bytes, in: 0..<bytes.count, names: names) != nil
    }

    /// A redacted header value: masked as a whole under a secret name. Otherwise only secrets within it are masked,
    /// such as a token in the query of a `Location`.
    public func headerValue(_ value: String, for name: String) -> String {
        isSecret(name) ? Self.mask : text(value)
    }

    /// Redacted headers.
    public func headers(_ headers: [String: String]) -> [String: String] {
        var shown = headers
        for (name, value) in headers { shown[name] = headerValue(value, for: name) }
        return shown
    }
}
