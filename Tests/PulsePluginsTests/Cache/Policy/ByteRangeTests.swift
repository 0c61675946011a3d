// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import PulsePlugins

/// RFC 9110, sections 14.1.2, 14.2 and 14.4.
@Suite(.throttled)
struct ByteRangeTests {
    @Test(arguments: [
        ("bytes=0-4", RangeField.one(.closed(first: 0, last: 4))), ("Bytes=5-", .one(.from(5))),
        ("bytes=-3", .one(.suffix(3))), ("bytes= 1-2 ,, ", .one(.closed(first: 1, last: 2))),
        ("bytes=1-99999999999999999999", .one(.closed(first: 1, last: .max - 1))),
        ("bytes=0-1,4-", .foreign), ("lines=0-1", .foreign),
        ("", .whole), ("bytes", .whole), ("bytes=", .whole), ("bytes=,", .whole), ("bytes=-", .whole),
        ("bytes=4-1", .whole), ("bytes=1-2-3", .whole), ("bytes=+1-2", .whole), ("bytes=1-\u{662}", .whole),
        ("bytes=0-1,4-1", .whole), ("by tes=0-1", .whole), ("=0-1", .whole),
    ])
    func aRangeFieldIsParsedByTheGrammar(value: String, field: RangeField) {
        #expect(RangeField(value) == field)
    }

    @Test func aRangeIsClampedToTheRepresentation() {
        #expect(ByteRange.closed(first: 2, last: 9).resolved(in: 5) == 2..<5)
        #expect(ByteRange.closed(first: 5, last: 9).resolved(in: 5) == nil)
        #expect(ByteRange.from(.max - 1).resolved(in: 5) == nil)
        #expect(ByteRange.suffix(.max - 1).resolved(in: 5) == 0..<5)
        #expect(ByteRange.suffix(0).resolved(in: 5) == nil)
        #expect(ByteRange.closed(first: 0, last: .max - 1).resolvedWithoutLength == 0..<(.max))
    }
}
