// SPDX-License-Identifier: MIT

extension RequestOptions {
    /// The urgency of a request relative to others of its client; a hint to the transport and to limits.
    public enum Priority: Int, Sendable, Hashable, Comparable {
        /// Ordered from the least to the most urgent; `normal` is the default.
        case low, normal, high

        public static func < (left: Priority, right: Priority) -> Bool {
            left.rawValue < right.rawValue
        }
    }
}
