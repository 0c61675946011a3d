// SPDX-License-Identifier: MIT

extension QueryEncoder {
    /// A server's conventions where the standards leave a choice.
    public struct Options: Sendable {
        /// How the elements of an array are named; ``Arrays/repeated`` by default.
        public var arrays = Arrays.repeated
        /// How nested members are named; ``Nesting/brackets`` by default.
        public var nesting = Nesting.brackets
        /// How Booleans are written; ``Booleans/literal`` by default.
        public var booleans = Booleans.literal
        /// How dates are written; ``Dates/iso8601`` by default.
        public var dates = Dates.iso8601
        /// How the names of members are changed; ``Keys/useDefault`` by default.
        public var keys = Keys.useDefault
        /// Whether a member that is nil is written; ``Nils/omitted`` by default.
        public var nils = Nils.omitted

        /// Whether members of a type and keys of a dictionary are sorted by name, so that equal values give equal URLs;
        /// true by default.
        ///
        /// If false, members keep the order in which they are encoded. Only a dictionary, which is unordered, is
        /// sorted. The elements of an array always keep their order.
        public var sortsKeys = true

        /// Creates the default conventions.
        public init() {}
    }
}

extension QueryEncoder.Options {
    /// How the elements of an array are named.
    public enum Arrays: Sendable {
        /// `a=1&a=2`
        case repeated
        /// `a[]=1&a[]=2`
        case brackets
        /// `a[0]=1&a[1]=2`
        case indexed
        /// `a=1,2`, with the comma escaped like any other. An element that contains a comma, an array or an object is
        /// an error: the server would parse it differently.
        case comma
    }

    /// How nested members are named.
    public enum Nesting: Sendable {
        /// `a[b]=c`
        case brackets
        /// `a.b=c`
        case dots
    }

    /// How Booleans are written.
    public enum Booleans: Sendable {
        /// `true` and `false`
        case literal
        /// `1` and `0`
        case numeric
    }

    /// How dates are written.
    public enum Dates: Sendable {
        /// `2026-01-31T12:00:00Z`, in UTC and whole seconds (RFC 3339, section 5.6); a year outside 1 to 9999 is an
        /// error
        case iso8601
        /// Seconds since 1970, with a fraction if there is one
        case secondsSince1970
        /// Milliseconds since 1970, rounded to a whole number
        case millisecondsSince1970
        /// The text that a closure returns for the date; called concurrently
        case custom(@Sendable (Date) -> String)
    }

    /// How the names of members are changed. The keys of a dictionary are data and stay unchanged.
    public enum Keys: Sendable {
        /// The coded name
        case useDefault
        /// `userID` becomes `user_id`, as in `JSONEncoder`, except that `URL` becomes `url` and not `u_rl`
        case snakeCase
        /// The name that a closure returns for the coded one; called concurrently
        case custom(@Sendable (String) -> String)
    }

    /// How a nil member is written.
    public enum Nils: Sendable {
        /// Nothing is written
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

    /// The name in snake case. A word starts at an upper-case letter after a character that is not upper-case, and at
    /// the last upper-case letter of a sequence before a lower-case one: `myURLProperty` is `my_url_property`.
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
