// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// A validator that two responses share only if their bytes are the same (RFC 9110, section 8.8.1). Parts are joined
/// only under equal validators.
struct StrongValidator: Sendable, Equatable {
    /// The least seconds between the last modification and the response for the date to be strong. Before that, another
    /// change could have the same date (RFC 9110, section 8.8.2.2).
    private static let leastAge: TimeInterval = 60

    /// The value for `If-Range`.
    let text: String

    /// An entity tag decides alone if there is one, even a weak one. Otherwise the modification date may be used.
    init?(of head: CachedHead) {
        if head.headers.contains("ETag") {
            guard let tag = EntityTag(of: head.headers), !tag.isWeak else { return nil }
            text = tag.text
        } else {
            guard let value = head.headers["Last-Modified"], Self.strongDate(of: head) != nil else { return nil }
            text = value
        }
    }

    /// The `Last-Modified` date, if it is strong.
    static func strongDate(of head: CachedHead) -> Date? {
        guard let changed = head.headers["Last-Modified"].flatMap({ HTTPDate.parse($0, now: head.responseTime) }),
            let date = head.headers["Date"].flatMap({ HTTPDate.parse($0, now: head.responseTime) }),
            date.timeIntervalSince(changed) >= leastAge
        else { return nil }
        return changed
    }
}
