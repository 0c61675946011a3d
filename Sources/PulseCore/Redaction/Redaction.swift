// SPDX-License-Identifier: MIT

/// The rules by which secrets are masked in whatever is shown to people: logs, errors, events, cURL, HAR and reports.
///
/// A value is secret because of its name: that of a header, a query item, a form field or a JSON key. Names are
/// compared without regard to ASCII case and punctuation, so that `X-API-Key`, `api_key` and `apikey` are one. A secret
/// is replaced as a whole by ``mask``, so that not even its length shows. Every function takes time linear in its
/// input, accepts any input, and leaves alone what is masked already.
///
/// When in doubt a value is masked: names that merely contain `token`, such as `max_tokens`, are secret too. Two common
/// names stay readable although some services put secrets there, because elsewhere they hold anything: `key` and
/// `code`. Add them with ``init(secretHeaders:)`` where they matter.
public struct Redaction: Sendable {
    /// The text that is shown in place of a secret.
    public static let mask = "***REDACTED***"

    /// The rules with the names that are secret everywhere: `Authorization`, `Proxy-Authorization`, `Cookie`,
    /// `Set-Cookie`, `X-API-Key`, `X-Signature-*`, and whatever contains `token`, `secret`, `password` and the like.
    public static let standard = Redaction()

    static let maskBytes = Array(mask.utf8)

    let names: SecretNames

    /// Creates rules with the standard names and `secretHeaders`, which count for headers and for parameters alike.
    public init(secretHeaders: some Sequence<String> = [String]()) {
        names = SecretNames(adding: secretHeaders)
    }

    private init(names: SecretNames) {
        self.names = names
    }

    /// These rules with more names.
    package func adding(_ names: some Sequence<String>) -> Redaction {
        Redaction(names: self.names.adding(names))
    }

    /// These rules with the names of another.
    package func adding(_ other: Redaction) -> Redaction {
        other.names.hasOwn ? Redaction(names: names.adding(other.names)) : self
    }

    /// Whether the value under that name is secret. Allocates nothing, since it is called for every header of every
    /// request.
    public func isSecret(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { names.contains($0) }
    }

    /// The value of a header as it may be shown: masked under a secret name; else only secrets within it, such as one
    /// in the query of a `Location`, are masked.
    public func headerValue(_ value: String, for name: String) -> String {
        isSecret(name) ? Self.mask : text(value)
    }

    /// Headers as they may be shown.
    public func headers(_ headers: [String: String]) -> [String: String] {
        var shown = headers
        for (name, value) in headers { shown[name] = headerValue(value, for: name) }
        return shown
    }
}
