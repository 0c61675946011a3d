// SPDX-License-Identifier: MIT

import PulseCore
import PulseModels
import PulseTesting
import TestSupport
import Testing

/// Lists with random pages: repeated elements, empty pages, circles and failures. `PULSE_STEPS` sets the number of
/// requests.
@MainActor
@Suite(.tags(.schedule), .throttled)
struct PagedScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 2_000

    @Test func listsAgreeWithAPlainModelOverARandomSchedule() async {
        var (seed, sent) = (UInt64(0), 0)
        while sent < Self.steps {
            let random = SeededRandomness(seed: seed)
            let server = RandomPages(random)
            var plain = PlainList(server: server)
            let stage = ClientStage(over: MockTransport { try server.response(to: $0) })
            let model = PagedModel(GetRows(), client: stage.client)
            var isRaced = false
            for step in 0..<12 {
                server.begin()
                var tasks: [Task<PaginatedPhase<[GetRows.Row]>, Never>] = []
                var (expected, pages) = ([String](), [Int]())
                func load(_ refreshes: Bool) {
                    expected.append(plain.load(refreshes: refreshes))
                    pages += plain.sent
                }
                switch random.next() % 10 {
                case 0:
                    tasks.append(model.refresh())
                    load(true)
                case 1:
                    // The first page comes after the next one.
                    tasks += [model.loadMore(), model.fetch()]
                    let isFirst = !plain.isLoaded || plain.hasFirstFailed
                    load(false)
                    if isFirst { expected.append(plain.phase) } else { load(true) }
                case 2:
                    // The first page in place of the next one, of which something may be sent.
                    tasks += [model.loadMore(), model.refresh()]
                    let last = plain.isComplete ? plain.phase : nil
                    load(true)
                    expected.insert(last ?? plain.phase, at: 0)
                    isRaced = true
                default:
                    tasks.append(model.loadMore())
                    load(false)
                }
                for (task, expected) in zip(tasks, expected) {
                    #expect(await task.value.text == expected, "seed \(seed), step \(step)")
                }
                if !isRaced { #expect(server.sent == pages, "seed \(seed), step \(step)") }
                sent += max(1, pages.count)
            }
            let hasWarned = stage.sink.names.contains("warning")
            #expect(hasWarned == plain.isCircular || isRaced && hasWarned, "seed \(seed)")
            seed += 1
        }
    }
}

/// Pages that link to each other at random; some requests for them fail.
private final class RandomPages: Sendable {
    struct Page {
        let rows: [Int]
        let next: Int?
    }

    let pages: [Page]
    private let random: SeededRandomness
    private let state = Locked<(failing: Set<Int>, sent: [Int])>(([], []))

    var failing: Set<Int> { state.withLock { $0.failing } }
    var sent: [Int] { state.withLock { $0.sent } }

    init(_ random: SeededRandomness) {
        self.random = random
        func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
        let count = 1 + below(30)
        let (emptiness, circularity) = (below(6), below(3))
        pages = (0..<count).map { index in
            let rows = below(6) < emptiness ? [] : (0..<below(4)).map { _ in below(20) }
            let next = below(12) < circularity ? below(count) : index + 1
            return Page(rows: rows, next: next < count ? next : nil)
        }
    }

    func begin() {
        let failing = Set(pages.indices.filter { _ in random.next() % 9 == 0 })
        state.withLock { $0 = (failing, []) }
    }

    func response(to request: URLRequest) throws -> PulseResponse {
        let number = request.url.flatMap { Int($0.lastPathComponent) } ?? 0
        let isFailing = state.withLock { state in
            state.sent.append(number)
            return state.failing.contains(number)
        }
        let next = pages[number].next.map { #","next":\#($0)"# } ?? ""
        return PulseResponse(
            statusCode: isFailing ? 500 : 200, headers: ["Content-Type": "application/json"],
            data: Data(#"{"rows":\#(pages[number].rows)\#(next)}"#.utf8), request: request)
    }
}

/// The rules of a list.
private struct PlainList {
    private struct Loaded {
        var rows: [Int] = []
        var next: Int? = 0
        var pages: [Int] = []
    }

    let server: RandomPages
    private var loaded: Loaded?
    private(set) var sent: [Int] = []
    private(set) var isCircular = false
    private(set) var phase = "idle"
    /// Whether the last load was for all, and failed.
    private(set) var hasFirstFailed = false
    var isLoaded: Bool { loaded != nil }
    var isComplete: Bool { isLoaded && loaded?.next == nil && !hasFirstFailed }

    init(server: RandomPages) { self.server = server }

    /// Returns the phase as text.
    mutating func load(refreshes: Bool) -> String {
        sent = []
        // Without a next page nothing changes.
        if !isComplete || refreshes { phase = loadPages(refreshes || hasFirstFailed) }
        return phase
    }

    private mutating func loadPages(_ refreshes: Bool) -> String {
        var list = refreshes ? Loaded() : loaded ?? Loaded()
        var emptyPages = 0
        while emptyPages < 10, let number = list.next {
            if list.pages.contains(number) {
                list.next = nil
                isCircular = true
                break
            }
            sent.append(number)
            if server.failing.contains(number) {
                hasFirstFailed = refreshes || loaded == nil
                return "failure http \(loaded.map { "\($0.rows)" } ?? "none")"
            }
            list.pages.append(number)
            list.next = server.pages[number].next
            let before = list.rows.count
            for row in server.pages[number].rows where !list.rows.contains(row) { list.rows.append(row) }
            if list.rows.count > before { break }
            emptyPages += 1
        }
        (loaded, hasFirstFailed) = (list, false)
        return "loaded \(list.rows)" + (list.next == nil ? "" : " more")
    }
}
