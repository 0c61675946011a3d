// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseCalls

@Suite(.throttled)
struct AcceptLanguageTests {
    @Test(
        arguments: [
            ([], nil), (["de-DE"], "de-DE"), (["de-DE", "en-US", "fr"], "de-DE, en-US;q=0.9, fr;q=0.8"),
            (["a", "b", "c", "d", "e", "f", "g"], "a, b;q=0.9, c;q=0.8, d;q=0.7, e;q=0.6, f;q=0.5"),
        ] as [([String], String?)])
    func acceptLanguageNamesTheFirstSixLanguagesWithDescendingWeights(_ languages: [String], _ expected: String?) {
        #expect(AcceptLanguage.text(of: languages) == expected)
    }

    /// The cache compares what the transport sends, so no layer below it may add the field.
    @Test func everyRequestHasAcceptLanguageWhereURLSessionWouldAddIt() {
        let configuration = PulseConfiguration()
        #expect(configuration.headersOfEveryRequest["Accept-Language"] == AcceptLanguage.standard)
        let own = configuration.with(\.defaultHeaders, value: ["accept-language": "it"]).headersOfEveryRequest
        #expect(own.header("Accept-Language") == "it")
        #if canImport(FoundationNetworking)
        #expect(AcceptLanguage.standard == nil)
        #endif
    }
}
