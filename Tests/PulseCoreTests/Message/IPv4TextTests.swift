// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct IPv4TextTests {
    /// The forms of the WHATWG URL standard.
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("127.0.1", "127.0.0.1"), ("0x7f000001", "127.0.0.1"),
        ("0X7F.1", "127.0.0.1"), ("2130706433", "127.0.0.1"), ("017700000001", "127.0.0.1"),
        ("0177.0.0.01", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("10.258", "10.0.1.2"), ("1.2.772", "1.2.3.4"),
        ("0", "0.0.0.0"), ("0x", "0.0.0.0"), ("1.0x.", "1.0.0.0"), ("00.0", "0.0.0.0"),
        ("255.255.255.255", "255.255.255.255"), ("4294967295", "255.255.255.255"), ("1.16777215", "1.255.255.255"),
    ])
    func anAddressHasOneForm(text: String, address: String) {
        #expect(IPv4Text.dottedQuad(text) == address)
    }

    @Test(arguments: [
        "", ".", "..", "a", "a.test", "localhost", "1.2.3.4.5", "256.0.0.1", "1.2.3.256", "1.2.65536", "1.16777216",
        "4294967296", "99999999999999999999", "0x100000000", "08", "1.09", "0xg", "1..2", ".1", "1.2..", "+1", "-1",
        "1 ", " 1", "1.2.3.4a", "1e3", "fed", "a.0x1", "1.a", "::1", "0x0x1", "1_0",
    ])
    func anyOtherHostIsNone(text: String) {
        #expect(IPv4Text.dottedQuad(text) == nil)
    }
}
