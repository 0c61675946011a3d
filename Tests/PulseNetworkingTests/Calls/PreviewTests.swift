// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct PreviewTests {
    private struct GetName: Endpoint {
        typealias Response = String

        var path: String { "/name" }
        var isQueueableWhenOffline: Bool { true }
        var plugins: [any PulsePlugin] { [RetryPlugin(policy: RetryPolicy(maxAttempts: 5))] }
        var options: RequestOptions { RequestOptions().with(\.retry, value: RetryPolicy(maxAttempts: 9)) }
    }

    @Test func theClosureGivesTheResponse() async throws {
        let seen = Locked<[URLRequest]>([])
        let client = PulseClient.preview { request in
            seen.withLock { $0.append(request) }
            return PulseResponse(statusCode: 200, data: Data("Ada".utf8), request: request)
        }
        #expect(try await client.request(GetName()) == "Ada")
        var bytes = Data()
        for try await chunk in try await client.bytes(Request<Data>("/stream")).bytes { bytes.append(chunk) }
        #expect(bytes == Data("Ada".utf8))
        #expect(
            seen.withLock { $0.map { $0.url?.absoluteString } } == [
                "https://preview.invalid/name", "https://preview.invalid/stream",
            ])
        #expect(client.environment.events !== PulseEventBus.shared)
    }

    @Test func withoutAClosureEachCallIsUnsupported() async {
        let client = PulseClient.preview()
        #expect(await client.result(of: GetName()).failure?.kind == .unsupported)
        let socket = await #expect(throws: PulseError.self) { try await client.rawRequest(Request<Data>("/raw")) }
        #expect(socket?.kind == .unsupported)
    }

    /// Not even if the endpoint asks for it by its options and a plugin.
    @Test func nothingIsRetried() async {
        let count = Locked(0)
        let client = PulseClient.preview { _ in
            count.withLock { $0 += 1 }
            throw PulseError.noConnection
        }
        #expect(await client.result(of: GetName()).failure?.kind == .noConnection)
        #expect(await client.result(of: Request<String>("/a")).failure?.kind == .noConnection)
        #expect(count.withLock { $0 } == 2)
    }

    @Test func aCancelledCallEndsSoThatNoPreviewWaits() async {
        let client = PulseClient.preview { request in
            withUnsafeCurrentTask { $0?.cancel() }
            return PulseResponse(statusCode: 200, data: Data("Ada".utf8), request: request)
        }
        #expect(await client.result(of: GetName()).failure?.kind == .cancelled)
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
