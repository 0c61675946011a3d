// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import PulseTransports
import TestSupport
import Testing

@testable import PulseTransfers

/// Processes that end at any of their effects, over a system and a disk that outlive them, in a random schedule;
/// `PULSE_STEPS` sets its length.
@Suite(.tags(.threads, .addresses, .schedule), .throttled)
struct BackgroundScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    /// What outlives a process: the disk, the system's tasks, and what the app knows for good.
    private final class Outside: @unchecked Sendable {
        // Unchecked: one task uses it.
        var entries: [String: BackgroundEntry] = [:]
        var contents: Set<String> = []
        var resumeData: Set<String> = []

        struct Task {
            let name: String
            let isResumption: Bool
            var isResumed = false
        }
        var tasks: [Int: Task] = [:]
        /// The events for the next process.
        var events: [BackgroundEvent] = []
        private var next = 1
        /// How often the server got a request.
        var sent: [String: Int] = [:]

        /// What is uploaded.
        let file: UploadedFile
        /// Whether the disk is full at the next write.
        var isFull: () -> Bool = { false }

        init() throws {
            let url = URL(fileURLWithPath: #filePath)
            file = UploadedFile(url: url, stamp: try FileStamp(path: url.path))
        }

        /// The effects that the process may still have.
        var effects = Int.max
        var effectCount = 0

        /// Whether the process still runs. An effect that it does not have is as if it had ended before.
        func hasEffect() -> Bool {
            guard effects > 0 else { return false }
            effects -= 1
            effectCount += 1
            return true
        }

        var isRunning: Bool { effects > 0 }

        func make(_ work: BackgroundWork) -> Int {
            defer { next += 1 }
            let isResumption = if case .resumedDownload = work.kind { true } else { false }
            tasks[next] = Task(name: work.name, isResumption: isResumption)
            return next
        }

        func resume(_ number: Int) {
            guard let task = tasks[number], !task.isResumed else { return }
            tasks[number]?.isResumed = true
            sent[task.name, default: 0] += 1
        }
    }

    private final class Disk: BackgroundStorage, @unchecked Sendable {
        // Unchecked: one task uses it.
        let outside: Outside

        init(_ outside: Outside) { self.outside = outside }

        func load() -> [BackgroundEntry] {
            outside.entries.values.sorted { $0.id < $1.id }.map { entry in
                var entry = (try? entry.coded()) ?? entry
                if case .response(_, body: nil) = entry.outcome, !hasContent(of: entry.id) { entry.outcome = nil }
                return entry
            }
        }
        func save(_ entry: BackgroundEntry) throws {
            if outside.isFull() { throw JournalFailure.noSpace }
            if case .failure(let failure) = entry.outcome, failure.resumeData != nil {
                saveResumeData(Data(), of: entry.id)
            }
            if outside.hasEffect() { outside.entries[entry.id] = entry }
        }
        func saveResumeData(_ data: Data, of id: String) {
            if outside.hasEffect() { outside.resumeData.insert(id) }
        }
        func resumeData(of id: String) -> Data? { outside.resumeData.contains(id) ? Data() : nil }
        func takeContent(_ file: URL, of id: String) {
            if outside.hasEffect() { outside.contents.insert(id) }
        }
        func hasContent(of id: String) -> Bool { outside.contents.contains(id) }
        func content(of id: String) -> URL { URL(fileURLWithPath: "/\(id)") }
        func remove(_ id: String) {
            if outside.hasEffect() { outside.entries[id] = nil }
            if outside.hasEffect() { outside.contents.remove(id) }
            if outside.hasEffect() { outside.resumeData.remove(id) }
        }
    }

    private final class Session: BackgroundSession {
        let outside: Outside

        init(_ outside: Outside) { self.outside = outside }

        func findTasks(_ found: @escaping @Sendable ([BackgroundTask]) -> Void) {
            found(outside.tasks.map { BackgroundTask(identifier: $0.key, name: $0.value.name) })
        }
        func makeTask(_ work: BackgroundWork) -> Int { outside.hasEffect() ? outside.make(work) : -1 }
        func resume(_ task: Int) {
            if outside.hasEffect() { outside.resume(task) }
        }
        func cancel(_ task: Int) {
            if outside.hasEffect(), let gone = outside.tasks.removeValue(forKey: task) {
                outside.events.append(
                    .finished(BackgroundTask(identifier: task, name: gone.name), nil, .lost))
            }
        }
        func stop(_ task: Int, _ stopped: @escaping @Sendable (Data?) -> Void) {
            guard outside.hasEffect(), let gone = outside.tasks.removeValue(forKey: task) else { return stopped(nil) }
            outside.events.append(.finished(BackgroundTask(identifier: task, name: gone.name), nil, .lost))
            stopped(Data())
        }
    }

    /// A call, which lasts until its transfer has a result. The next process makes it again.
    private final class Caller: @unchecked Sendable {
        // Unchecked: one task uses it.
        let id: String
        let isUpload: Bool
        /// Known for good.
        var results = 0
        var failures = 0
        /// How often the call was cancelled.
        var stops = 0
        /// In this process.
        var isWaiting = false
        var mayTakeOver = true
        var delivery: BackgroundCoordinator.Delivery?

        init(_ id: String, isUpload: Bool) { (self.id, self.isUpload) = (id, isUpload) }

        func ask(_ coordinator: BackgroundCoordinator, _ outside: Outside) {
            isWaiting = true
            let entry = BackgroundEntry(id: id, isUpload: isUpload, request: "r" + id, account: nil)
            let handOver = BackgroundCoordinator.HandOver(
                entry: entry, request: URLRequest(url: outside.file.url),
                upload: isUpload ? outside.file : nil, notBefore: nil, mayTakeOver: mayTakeOver)
            coordinator.handOver(handOver, progress: { _ in }) { [self] result in
                #expect(isWaiting, "delivered twice")
                isWaiting = false
                guard case .success(let delivery) = result else { return }
                self.delivery = delivery
                mayTakeOver = false
            }
        }
    }

    @Test func nothingIsLostOrDoneTwiceHoweverProcessesEnd() throws {
        var ends = 0
        for seed in 0..<UInt64(max(20, Self.steps / 100)) {
            let random = SeededRandomness(seed: seed)
            func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }
            let outside = try Outside()
            let callers = (0..<4).map { Caller("\($0)", isUpload: $0 % 2 == 0) }
            outside.isFull = { chance(3) }
            var launches = 0
            while callers.contains(where: { $0.results == 0 }), launches < 400 {
                launches += 1
                // The last processes run as long as they want.
                outside.effects = launches > 200 ? .max : Int(random.next() % 40)
                if outside.effects < .max { ends += 1 }
                run(outside, callers, random, chance)
            }
            for caller in callers {
                #expect(caller.results == 1, "seed \(seed), \(caller.id): \(caller.results) results")
                // A request is sent again only after a failure that the caller was told of, or a cancellation.
                #expect(
                    outside.sent[caller.id, default: 0] <= 1 + caller.failures + caller.stops,
                    "seed \(seed), \(caller.id): sent \(outside.sent[caller.id] ?? 0), \(caller.failures) failures")
            }
            // One more process cleans up what the last one has left.
            (outside.effects, outside.isFull) = (.max, { false })
            _ = launch(outside, callers)
            #expect(outside.tasks.isEmpty, "seed \(seed): \(outside.tasks)")
            #expect(outside.entries.isEmpty, "seed \(seed)")
        }
        #expect(ends > 100)
    }

    private func launch(_ outside: Outside, _ callers: [Caller]) -> BackgroundCoordinator {
        let waits = Locked<[BackgroundTransfers.StateMachine.Wait]>([])
        let coordinator = BackgroundCoordinator(Disk(outside)) { _, wait in
            waits.withLock { $0.append(wait) }
        } warn: { _ in
        }
        try? coordinator.load()
        let session = Session(outside)
        coordinator.use(session)
        // Events come before or after the list.
        let isFirst = outside.events.count % 2 == 0
        if isFirst { deliver(outside, coordinator) }
        session.findTasks { coordinator.list($0) }
        deliver(outside, coordinator)
        waits.withLock { $0 }.forEach { coordinator.waitIsOver($0) }
        // As a list does, which stores a result before it settles the transfer.
        for caller in callers where caller.results > 0 { coordinator.forget(caller.id) }
        return coordinator
    }

    private func deliver(_ outside: Outside, _ coordinator: BackgroundCoordinator) {
        while outside.isRunning, !outside.events.isEmpty {
            let event = outside.events[0]
            coordinator.handle(event)
            // A process that ends in the middle of an event gets it again, or not.
            if outside.isRunning || outside.effectCount % 2 == 0 { outside.events.removeFirst() }
        }
    }

    private func run(
        _ outside: Outside, _ callers: [Caller], _ random: SeededRandomness, _ chance: (UInt64) -> Bool
    ) {
        let coordinator = launch(outside, callers)
        for caller in callers { (caller.isWaiting, caller.mayTakeOver, caller.delivery) = (false, true, nil) }
        for _ in 0..<60 where outside.isRunning {
            switch random.next() % 4 {
            case 0:
                let caller = callers[Int(random.next() % 4)]
                if let delivery = caller.delivery {
                    judge(delivery, by: caller, outside, coordinator, chance)
                } else if caller.results == 0, !caller.isWaiting {
                    caller.ask(coordinator, outside)
                }
            case 1, 2:
                // The system and the server.
                guard let number = outside.tasks.filter({ $0.value.isResumed }).keys.sorted().first,
                    let task = outside.tasks.removeValue(forKey: number)
                else { continue }
                let named = BackgroundTask(identifier: number, name: task.name)
                let head = BackgroundHead(status: 200, fields: [])
                if chance(20) {
                    let data = chance(50) ? Data() : nil
                    outside.events.append(
                        .finished(
                            named, nil, BackgroundFailure(code: .timedOut, phase: .maybeSent, resumeData: data)))
                } else {
                    if (Int(task.name) ?? 0) % 2 == 1 {
                        outside.events.append(.file(named, URL(fileURLWithPath: "/"), head))
                    }
                    outside.events.append(.finished(named, head, nil))
                }
            default:
                if chance(10), let caller = callers.first(where: { $0.isWaiting }) {
                    caller.stops += 1
                    coordinator.stopWaiting(caller.id)
                } else {
                    deliver(outside, coordinator)
                }
            }
        }
        // The process ends here.
        outside.effects = 0
    }

    private func judge(
        _ delivery: BackgroundCoordinator.Delivery, by caller: Caller, _ outside: Outside,
        _ coordinator: BackgroundCoordinator, _ chance: (UInt64) -> Bool
    ) {
        caller.delivery = nil
        if case .failure = delivery.entry.outcome {
            guard outside.hasEffect() else { return }
            caller.failures += 1
            if chance(50) {
                caller.ask(coordinator, outside)
            } else {
                coordinator.settle(caller.id)
                caller.mayTakeOver = true
            }
        } else {
            // The result is stored by the caller, and then settled: a process that ends in between gets it again.
            guard outside.hasEffect() else { return }
            caller.results += 1
            coordinator.settle(caller.id)
        }
    }
}
