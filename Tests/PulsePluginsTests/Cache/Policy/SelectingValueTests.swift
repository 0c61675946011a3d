// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import PulsePlugins

/// RFC 9111, section 4.1: which values of a request field are equivalent.
@Suite(.throttled)
struct SelectingValueTests {
    @Test(arguments: [
        ("accept-language", "en, de", "de,en"),
        ("accept-language", "eN, De", "en,de"),
        ("accept-language", " en ,\t de,, ", "en,de"),
        ("accept-language", "en, en, de", "en,de"),
        ("accept-language", "en;q=1, de;q=0.80", "de; q=0.8,en"),
        ("accept-language", "en;q=1.000, de;Q=0.8", "en, de ;q=0.800"),
        ("accept-encoding", "gzip, br", "BR,x-gzip"),
        ("accept-encoding", "gzip;q=0", "gzip; q=0.0"),
        ("accept-charset", "utf-8, *;q=0.1", "*;q=0.10, UTF-8"),
        ("accept", "text/html, application/json;q=0.5", "application/json; q=0.5, TEXT/html"),
        ("x-unknown", "a, b", " a ,b"),
    ])
    func equivalentPreferencesAreNormalizedToTheSameText(name: String, one: String, other: String) {
        #expect(SelectingValue.normalized(one, ofField: name) == SelectingValue.normalized(other, ofField: name))
    }

    @Test(arguments: [
        ("accept-language", "en, de", "en"),
        ("accept-language", "en;q=0.5", "en;q=0.4"),
        ("accept-language", "en;q=0", "en"),
        ("accept-language", "en-US", "en"),
        // An invalid weight is not parsed.
        ("accept-language", "en;q=1.001", "en"),
        ("accept-language", "en;q=0.5000", "en;q=0.5"),
        ("accept-language", "en;q=", "en"),
        ("accept-language", "en;q=2", "en"),
        ("accept-language", "", "en"),
        ("accept", "text/html;level=1", "text/html"),
        ("accept", "text/html;profile=A", "text/html;profile=a"),
        ("accept", "text/html;p=\"a, b\"", "text/html;p=\"a,b\""),
        // Fields that are no weighted lists are compared verbatim.
        ("x-unknown", "a, b", "b, a"),
        ("x-unknown", "a", "A"),
        ("accept-datetime", "Thu, 01 Jan 2026", "01 Jan 2026, Thu"),
    ])
    func differentPreferencesAreNormalizedToDifferentTexts(name: String, one: String, other: String) {
        #expect(SelectingValue.normalized(one, ofField: name) != SelectingValue.normalized(other, ofField: name))
    }
}
