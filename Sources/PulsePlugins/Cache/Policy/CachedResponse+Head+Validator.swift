// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension CachedResponse.Head {
    /// The strong validator, as the text for `If-Range`: two responses share it only if their bytes are the same (RFC
    /// 9110, section 8.8.1). Parts are joined only under equal validators.
    ///
    /// An entity tag decides alone if there is one, even a weak one. Otherwise the modification date may be used.
    var strongValidator: String? {
        guard headers.contains("ETag") else { return strongDate == nil ? nil : headers["Last-Modified"] }
        return EntityTag(of: headers).flatMap { $0.isWeak ? nil : $0.text }
    }

    /// The `Last-Modified` date, if it is strong: at least a minute before the response. Within that minute, another
    /// change could have the same date (RFC 9110, section 8.8.2.2).
    var strongDate: Date? {
        guard let changed = headers["Last-Modified"].flatMap({ HTTPDate.parse($0, now: responseTime) }),
            let date = headers["Date"].flatMap({ HTTPDate.parse($0, now: responseTime) }),
            date.timeIntervalSince(changed) >= 60
        else { return nil }
        return changed
    }
}
