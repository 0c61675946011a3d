// SPDX-License-Identifier: MIT

import PulseCore

/// The default `Accept-Language`: the user's languages on Apple platforms, none elsewhere.
///
/// Without it `URLSession` adds its own value, but below the cache. A cached response in a previous language would then
/// match a new request.
enum AcceptLanguage {
    static var standard: String? {
        #if canImport(Darwin)
        text(of: Locale.preferredLanguages)
        #else
        nil
        #endif
    }

    /// A header value for the languages in order of preference (RFC 9110, section 12.5.4); nil for an empty list.
    static func text(of languages: [String]) -> String? {
        let fields = languages.prefix(6).enumerated().map { index, language in
            index == 0 ? language : "\(language);q=0.\(10 - index)"
        }
        return fields.isEmpty ? nil : fields.joined(separator: ", ")
    }
}
