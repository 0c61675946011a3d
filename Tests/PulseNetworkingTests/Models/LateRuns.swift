// SPDX-License-Identifier: MIT

import PulseCore

@testable import PulseModels

/// The calls of models at the level of a shared request. They ignore their cancellation, and end when the test says so.
final class LateRuns: Sendable {
    typealias Content = LoadedValue<Int>

    @TaskLocal static var caller: String?

    private let replies = Locked<[Promise<Int>]>([])
    private let endCount = Locked(0)
    private let log = Locked<[String]>([])

    /// The callers and the priorities of the runs.
    var tasks: [String] { log.withLock { $0 } }

    var count: Int { replies.withLock { $0.count } }
    var ended: Int { endCount.withLock { $0 } }

    @MainActor
    func core(
        _ id: Int, _ client: PulseClient, _ policy: RefetchPolicy = .manual
    ) -> ModelCore<Content, RequestPhase<Int>> {
        ModelCore(target(id), client, policy) { RequestPhase($0) }
    }

    @MainActor
    func target(_ id: Int) -> ModelCore<Content, RequestPhase<Int>>.Target {
        .init(GetNumber(id: id), isPaged: false) { _, _, _ in
            let reply = Promise<Int>()
            let priority = Task.currentPriority == .utility ? "utility" : "userInitiated"
            self.log.withLock { $0.append("\(Self.caller ?? "none") \(priority)") }
            self.replies.withLock { $0.append(reply) }
            let value = await reply.value()
            defer { self.endCount.withLock { $0 += 1 } }
            let response = PulseResponse(statusCode: 200, request: URLRequest(url: URL(fileURLWithPath: "/")))
            return LoadedValue(value: value, response: response, date: .distantPast)
        }
    }

    @MainActor
    func started(_ count: Int) async { await eventually { self.count >= count } }

    /// Ends a run, and lets what it does happen.
    @MainActor
    func end(_ number: Int, _ value: Int) async {
        await started(number + 1)
        let ended = ended
        replies.withLock { $0[number] }.fulfill(value)
        await eventually { self.ended > ended }
        await turns()
    }
}
