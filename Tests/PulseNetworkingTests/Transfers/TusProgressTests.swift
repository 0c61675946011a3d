// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

extension Heard {
    /// `completed` falls only where `attempt` grows.
    func expectToFallOnlyBetweenAttempts(sourceLocation: SourceLocation = #_sourceLocation) {
        for (earlier, later) in zip(reports, reports.dropFirst()) {
            let isFine =
                later.attempt == earlier.attempt
                ? later.completed > earlier.completed
                : later.attempt == earlier.attempt + 1
            #expect(isFine, "\(earlier), then \(later)", sourceLocation: sourceLocation)
        }
    }
}

/// The progress of resumable uploads.
@Suite(.tags(.threads), .throttled)
struct TusProgressTests {
    private typealias Put = TusFixture.Put

    /// By a refreshed token, by a redirect that keeps the body, and by a retry of a server that failed at once.
    @Test(arguments: [401, 307])
    func aBodySentAgainIsTheNextAttempt(after status: Int) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.answering(.patch, with: .status(status, headers: ["Location": "/up/1"]))
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server, plugins: [.auth(Tokens())])
                let heard = Heard()
                _ = try await client.upload(Put(file), resuming: resumption, progress: heard.take)
                #expect(uploads.uploads.map(\.data) == [data])
                heard.expectToFallOnlyBetweenAttempts()
                #expect(heard.reports.map(\.attempt).max() == 2)
                #expect(heard.reports.last?.completed == 1 << 20)
                await client.shutdown()
            }
        }
    }

    @Test func theLowerOffsetAfterALossIsTheNextAttempt() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 300_000)
            try await TusFixture.withFile { file, _, resumption in
                let client = TusFixture.client(server)
                let heard = Heard()
                _ = try await client.upload(Put(file), resuming: resumption, progress: heard.take)
                heard.expectToFallOnlyBetweenAttempts()
                let second = try #require(heard.reports.first { $0.attempt == 2 })
                #expect(second.completed == 300_000 && heard.reports.last?.completed == 1 << 20)
                await client.shutdown()
            }
        }
    }

    /// An event is told once, and of the whole file.
    @Test func theSameReportsAreEvents() async throws {
        try await MockServer.run { server in
            server.serveTus(at: "/up").dropping(after: 300_000)
            try await TusFixture.withFile { file, _, resumption in
                let sink = RecordingSink()
                let client = TusFixture.client(server, events: PulseEventBus(sink: sink))
                let heard = Heard()
                _ = try await client.upload(Put(file), resuming: resumption, progress: heard.take)
                await client.shutdown()
                let told = sink.events.compactMap { event -> [Int64?]? in
                    guard case .transferProgress(_, let completed, let total) = event else { return nil }
                    return [completed, total]
                }
                #expect(told == heard.reports.map { [$0.completed, $0.total] })
                #expect(told.allSatisfy { $0[1] == 1 << 20 })
            }
        }
    }

    /// The listener is told what was sent. A plugin may read the body before, as one that signs it does.
    @Test func aBodyThatIsOnlyReadIsNotReported() async throws {
        try await MockServer.run { server in
            _ = server.serveTus(at: "/up")
            try await TusFixture.withFile { file, data, resumption in
                let heard = Heard()
                let reader = ClosurePlugin { request, context, next in
                    if case .stream(let body) = context.body {
                        var count = 0
                        for try await chunk in try await body.make() { count += chunk.count }
                        #expect(count == data.count && heard.completed == [0])
                    }
                    return try await next(request)
                }
                let client = TusFixture.client(server, plugins: [reader])
                _ = try await client.upload(Put(file), resuming: resumption, progress: heard.take)
                #expect(heard.completed.last == 1 << 20 && heard.reports.last?.attempt == 1)
                await client.shutdown()
            }
        }
    }
}
