// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct IPv6TextTests {
    @Test(arguments: [
        "::", "::1", "1::", "1::2", "2001:DB8::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8",
        "::1.2.3.4", "1:2:3:4:5:6:255.0.0.1", "fe80::1%25eth0", "::%25a-._~1",
    ])
    func anAddressIsALiteral(text: String) {
        #expect(IPv6Text.isLiteral(text.utf8))
    }

    @Test(arguments: [
        "", ":", ":::", "1", "1:", ":1", "::1:", ":1::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
        "1:2:3:4::5:6:7:8", "12345::", "g::", "::1.2.3", "::1.2.3.4.5", "::1.2.3.256", "::01.2.3.4", "::1.2..4",
        "1.2.3.4::", "1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "v1.x", "::1%", "::1%25", "::1%eth0", "::1%25a/b", "%25a",
    ])
    func anythingElseIsNone(text: String) {
        #expect(!IPv6Text.isLiteral(text.utf8))
    }
}
