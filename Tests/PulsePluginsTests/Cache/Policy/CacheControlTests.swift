// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct CacheControlTests {
    private static func control(_ lines: String...) -> CacheControl { CacheControl(lines) }

    @Test @HeavyWork func directiveNamesAreReadInAnyCaseAndAcrossLines() {
        let control = Self.control("No-Store, MAX-AGE=60", " must-revalidate ,immutable")
        #expect(control.noStore && control.mustRevalidate && control.immutable)
        #expect(control.maxAge == .value(60))
        #expect(!control.noCache)
    }

    @Test(arguments: [
        ("max-age=60", CacheControl.Seconds.value(60)), ("max-age=\"60\"", .value(60)), ("max-age=060", .value(60)),
        ("max-age=99999999999999999999", .value(2_147_483_647)), ("max-age=-1", .invalid), ("max-age=+1", .invalid),
        ("max-age=1.5", .invalid), ("max-age=", .invalid), ("max-age= 60", .invalid), ("max-age=6 0", .invalid),
        ("max-age", .missing), ("max-age=60, max-age=60", .value(60)), ("max-age=60, max-age=61", .invalid),
        ("max-age =60", .value(60)), ("max-age=60;", .invalid), ("max-age=٦٠", .invalid),
    ])
    @HeavyWork func aNumberOfSecondsConsistsOfDigitsOnly(line: String, expected: CacheControl.Seconds) {
        #expect(Self.control(line).maxAge == expected)
    }

    @Test @HeavyWork func aCommaWithinQuotesIsNoSeparator() {
        #expect(!Self.control("private=\"a, no-store, b\"").noStore)
        #expect(!Self.control("x=\"\\\", no-store\"").noStore)
        #expect(Self.control("private=\"a\", no-store").noStore)
    }

    @Test @HeavyWork func anUnterminatedQuoteHidesNoDirective() {
        #expect(Self.control("x=\"a, no-store").noStore)
        #expect(Self.control("x=\"a\\", "no-store").noStore)
    }

    /// Parsed in one pass: a search for the end of each quote would take minutes.
    @Test(arguments: ["\"\\", "\"", "\\\"", ","])
    @HeavyWork func aMegabyteOfQuotesIsParsedInLinearTime(piece: String) {
        let line = String(repeating: piece, count: (1 << 20) / piece.utf8.count)
        #expect(Self.control(line, "no-store").noStore)
    }

    @Test @HeavyWork func noCacheWithAFieldListAppliesToTheWholeResponse() {
        #expect(Self.control("no-cache=\"Set-Cookie\"").noCache)
    }

    @Test @HeavyWork func directivesForSharedCachesAreIgnored() {
        #expect(Self.control("s-maxage=10, proxy-revalidate, x-own=1,,=,") == CacheControl())
    }

    @Test(arguments: [
        ("\"a\"", true), ("W/\"a\"", true), ("\"\"", true), ("a", false), ("w/\"a\"", false), ("\"a b\"", false),
        ("\"a", false), ("\"", false), ("", false), ("W/", false), ("\"a\"b\"", false),
    ])
    @HeavyWork func anEntityTagMustBeQuoted(text: String, isOne: Bool) {
        #expect((EntityTag(text) != nil) == isOne)
    }
}
