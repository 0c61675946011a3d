// SPDX-License-Identifier: MIT

/// An encoder that turns an `Encodable` value into the items of a query or a form.
///
/// ```swift
/// var encoder = QueryEncoder()
/// encoder.options.arrays = .brackets
/// let query = try encoder.queryString(from: ["tag": ["a", "b"]])  // tag%5B%5D=a&tag%5B%5D=b
/// ```
///
/// Nested members get nested names, `filter[state]=open`; `Data` becomes Base64, and a `URL`, `UUID` or `Decimal` its
/// text. The values are raw text until ``queryString(_:)`` or ``formString(_:)`` escapes them, names included.
///
/// Encoding throws ``PulseError/encodingFailed(underlying:)`` for a top-level value without names (a string, an array)
/// and for a number that is not finite. It also throws it for a value of more than 100 levels, and for an error of the
/// value's own `encode(to:)`. A ``PulseError`` from `encode(to:)` is thrown unchanged.
public struct QueryEncoder: Sendable {
    /// Servers accept far fewer levels, and each level repeats the names of all outer ones.
    static let maxDepth = 100

    /// The server's conventions.
    public var options: Options

    /// Creates an encoder for a server's conventions.
    public init(options: Options = Options()) {
        self.options = options
    }

    /// Encodes a value as items, sorted by name at each level or as declared; see ``Options/sortsKeys``.
    public func items(from value: some Encodable) throws -> [URLQueryItem] {
        do {
            return try QueryTree(value, options: options).items()
        } catch let error as PulseError {
            throw error
        } catch {
            throw PulseError.encodingFailed(underlying: error)
        }
    }

    /// Encodes a value as a query, without its `?`.
    public func queryString(from value: some Encodable) throws -> String {
        Self.queryString(try items(from: value))
    }

    /// Encodes a value as the body of an `application/x-www-form-urlencoded` request.
    public func formString(from value: some Encodable) throws -> String {
        Self.formString(try items(from: value))
    }

    /// The items as a query (RFC 3986, section 3.4): everything outside `unreserved` is escaped, a space is `%20` and
    /// `+` is `%2B`. An item without a value is its bare name.
    public static func queryString(_ items: [URLQueryItem]) -> String {
        join(items, encoding: PercentEncoding.query)
    }

    /// The items as a form body (WHATWG URL, section 5.2): a space is `+` and `+` is `%2B`. An item without a value is
    /// its bare name.
    public static func formString(_ items: [URLQueryItem]) -> String {
        join(items, encoding: PercentEncoding.form)
    }

    private static func join(_ items: [URLQueryItem], encoding: (String) -> String) -> String {
        var text = ""
        for (index, item) in items.enumerated() {
            if index > 0 { text += "&" }
            text += encoding(item.name)
            if let value = item.value {
                text += "="
                text += encoding(value)
            }
        }
        return text
    }
}
