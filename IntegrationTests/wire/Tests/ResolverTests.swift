// SPDX-License-Identifier: MIT

import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ResolverTests {
    @Test(.enabled(if: Probe.mayHaveNetwork, "a network of one's own is not allowed here"))
    func aHangingNameServerDoesNotBlockOtherRequests() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("resolv-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("nameserver 127.0.0.1\noptions timeout:15 attempts:2\n".utf8).write(to: file)
        let outcomes = try Probe.runWithSilentResolver(file.path)
        let unconnected = "\(URLError.Code.cannotConnectToHost.rawValue) beforeSend"
        #expect(
            outcomes == [
                "beside": "answer", "cancelled": "cancelled", "after the cancel": "answer",
                "timed out": unconnected, "after the timeout": "answer",
                "shut down": "cancelled",
            ])
    }
}
