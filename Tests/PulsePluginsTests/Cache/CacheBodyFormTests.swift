// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct CacheBodyFormTests {
    /// An inner plugin may return such a body to any call. The cache does not have its bytes.
    @Test(arguments: [PulseResponse.Body.file(URL(fileURLWithPath: "/x")), .connection(CountedConnection())])
    func aFileOrAConnectionIsPassedOnAndNotStored(_ body: PulseResponse.Body) async throws {
        let sent = Locked(0)
        let cache = CachePlugin()
        for _ in 1...2 {
            let response = try await cache.run(.mock()) { request in
                sent.withLock { $0 += 1 }
                var response = PulseResponse(
                    statusCode: 200, headers: ["Cache-Control": "max-age=60"], request: request)
                response.body = body
                return response
            }
            #expect(response.file != nil || response.connection != nil)
        }
        #expect(sent.withLock { $0 } == 2)
    }
}
