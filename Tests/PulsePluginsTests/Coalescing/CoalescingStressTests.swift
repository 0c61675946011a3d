// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.tags(.threads, .addresses), .throttled)
struct CoalescingStressTests {
    private struct Numbered: Endpoint {
        typealias Response = String

        var number: Int
        var path: String { "/items/\(number)" }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyRemainingCallGetsItsOwnResponseAndNothingIsLeft(seed: UInt64) async throws {
        let random = SeededRandomness(seed: seed)
        let plugin = CoalescingPlugin()
        let transport = MockTransport(recordsRequests: false) { request in
            for _ in 0..<3 { await Task.yield() }
            return PulseResponse(
                statusCode: 200, data: Data((request.url?.lastPathComponent ?? "").utf8), request: request)
        }
        let client = ClientStage.client(.root, plugins: [plugin], retry: .default, over: transport)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<1_500 {
                let number = Int(random.next() % 20)
                let isCancelled = random.next() % 3 == 0
                group.addTask {
                    let call = Task { try await client.request(Numbered(number: number)) }
                    if isCancelled { call.cancel() }
                    switch await call.result {
                    case .success(let text): #expect(text == "\(number)", "seed \(seed)")
                    case .failure(let error):
                        #expect(isCancelled && (error as? PulseError)?.kind == .cancelled, "seed \(seed): \(error)")
                    }
                }
                if index % 100 == 99 { await Task.yield() }
            }
        }
        await client.shutdown()
        #expect(plugin.waiterCount == 0)
        #expect(plugin.runCount == 0)
    }

    /// ``CoalescingKeysTests`` measures the plugin alone with a million keys.
    @Test func distinctCallsLeaveNothingInMemory() async throws {
        let plugin = CoalescingPlugin()
        for number in 0..<2_000 {
            let request = URLRequest.mock(.get, "/items/\(number)")
            _ = try await plugin.run(request) { PulseResponse(statusCode: 200, request: $0) }
        }
        #expect(plugin.waiterCount == 0)
        #expect(plugin.runCount == 0)
    }

    @Test func aShutdownUnderLoadLosesNoCall() async throws {
        let plugin = CoalescingPlugin()
        let transport = MockTransport(recordsRequests: false) { request in
            for _ in 0..<3 { await Task.yield() }
            return PulseResponse(statusCode: 200, request: request)
        }
        let client = ClientStage.client(.root, plugins: [plugin], retry: .default, over: transport)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<2_000 {
                group.addTask {
                    if index % 200 == 100 { return await plugin.shutdown() }
                    _ = try? await client.rawRequest(Numbered(number: index % 7))
                }
            }
        }
        await client.shutdown()
        #expect(plugin.waiterCount == 0)
        #expect(plugin.runCount == 0)
    }
}
