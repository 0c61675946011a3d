// SPDX-License-Identifier: MIT

import PulseCalls
import TestSupport
import Testing

@Suite(.throttled)
struct MediaTypeTests {
    @Test func theTextOfAnUnexpectedTypeIsOnOneLine() {
        let error = UnexpectedMediaType(expected: "text/event-stream", found: "a\u{1B}[0m/b\n")
        #expect("\(error)" == #"the response is no text/event-stream, but a\u{1B}[0m/b\n"#)
    }
}
