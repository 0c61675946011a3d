// SPDX-License-Identifier: MIT

import PulseCore

/// The default `Accept-Language`: the user's languages on Apple platforms, none elsewhere.
///
/// `URLSession` adds one to each request without, but below the cache: an answer in the language of yesterday would
/// pass for one to today's request.
enum AcceptLanguage {
    static var standard: String? {
        #if canImport(Darwin)
        text(of: Locale.preferredLanguages)
        #else
        nil
        #endif
    }

    /// The languages, the first of which counts most (RFC 9110, section 12.5.4); nil without any.
    static func text(of languages: [String]) -> String? {
        let fields = languages.prefix(6).enumerated().map { index, language in
            index == 0 ? language : "\(language);q=0.\(10 - index)"
        }
        return fields.isEmpty ? nil : fields.joined(separator: ", ")
    }
}
