// SPDX-License-Identifier: MIT

extension QueryEncoder {
    /// The conventions of a server for what the standards leave open.
    public struct Options: Sendable {
        public var arrays = Arrays.repeated
        public var nesting = Nesting.brackets
        public var booleans = Booleans.literal
        public var dates = Dates.iso8601
        public var keys = Keys.useDefault
        public var nils = Nils.omitted

        /// Members of a type and keys of a dictionary are sorted by name (on by default), so that equal values make equal
        /// URLs; else members come as they are encoded and only a dictionary, which has no order, is sorted.
        /// The elements of an array always keep their order.
        public var sortsKeys = true

        public init() {}
    }
}

extension QueryEncoder.Options {
    public enum Arrays: Sendable {
        /// `a=1&a=2`
        case repeated
        /// `a[]=1&a[]=2`
        case brackets
        /// `a[0]=1&a[1]=2`
        case indexed
        /// `a=1,2`, the comma escaped like any other. An element that holds a comma, an array or an object is an error:
        /// it would arrive as something else.
        case comma
    }

    public enum Nesting: Sendable {
        /// `a[b]=c`
        case brackets
        /// `a.b=c`
        case dots
    }

    public enum Booleans: Sendable {
        /// `true` and `false`
        case literal
        /// `1` and `0`
        case numeric
    }

    public enum Dates: Sendable {
        /// `2026-01-31T12:00:00Z`, in UTC and whole seconds (RFC 3339, section 5.6)
        case iso8601
        /// With a fraction if there is one
        case secondsSince1970
        /// Rounded to whole milliseconds
        case millisecondsSince1970
        case custom(@Sendable (Date) -> String)
    }

    /// What becomes of the names of members. The keys of a dictionary are data and stay as they are.
    public enum Keys: Sendable {
        case useDefault
        /// `userID` to `user_id`: what `JSONEncoder` makes of it, except that `URL` is `url` and not `u_rl`
        case snakeCase
        case custom(@Sendable (String) -> String)
    }

    public enum Nils: Sendable {
        case omitted
        /// `key=`
        case empty
    }
}

extension QueryEncoder.Options.Keys {
    func name(for key: String) -> String {
        switch self {
        case .useDefault: key
        case .snakeCase: Self.snakeCase(key)
        case .custom(let transform): transform(key)
        }
    }

    /// A word begins at an upper-case letter after a lower-case one or a digit, and at the last upper-case letter of a
    /// row that a lower-case one follows: `myURLProperty` is `my_url_property`.
    private static func snakeCase(_ key: String) -> String {
        let characters = Array(key)
        var result = ""
        for (index, character) in characters.enumerated() {
            if index > 0, character.isUppercase {
                let next = index + 1 < characters.count ? characters[index + 1] : nil
                if !characters[index - 1].isUppercase || next?.isLowercase == true { result += "_" }
            }
            result += character.lowercased()
        }
        return result
    }
}
