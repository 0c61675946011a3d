// SPDX-License-Identifier: MIT

extension Cassette {
    /// What a request must share with a recorded one besides its method and path.
    public struct Matching: OptionSet, Sendable {
        public let rawValue: Int

        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Scheme, host and port.
        public static let host = Matching(rawValue: 1)
        /// The same items, in any order.
        public static let query = Matching(rawValue: 2)
        /// Text alike, JSON alike however it is written; of what was not kept the size, if that is known.
        public static let body = Matching(rawValue: 4)

        public static let all: Matching = [.host, .query, .body]
    }

    /// Which recorded request answers.
    public enum Order: Sendable, Hashable {
        /// The first one that matches and was not played; when all that match were, the last of them again.
        case byMatch
        /// The next one, which has to match.
        case asRecorded
    }
}
