// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseTransfers

/// The state machine of a list in a random schedule; `PULSE_STEPS` sets its length. Then a list itself, with 200
/// downloads.
@Suite(.tags(.threads, .addresses, .schedule), .throttled)
struct DownloadListScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    /// What a listener and the transfers see.
    private struct Observer {
        let limit: Int
        var running: Set<UUID> = []
        var stopped: Set<UUID> = []
        var ended: Set<UUID> = []
        var dropped: Set<UUID> = []
        /// The last event of each, by its name.
        var latest: [UUID: String] = [:]

        mutating func take(_ actions: [DownloadList.StateMachine.Action]) {
            for action in actions {
                switch action {
                case .tell(let id, let event):
                    #expect(!ended.contains(id), "\(event) after the end")
                    latest[id] = "\(event)".prefix { $0 != "(" }.description
                    switch event {
                    case .completed: ended.insert(id)
                    case .cancelled:
                        ended.insert(id)
                        #expect(dropped.contains(id))
                    case .started: #expect(!running.contains(id))
                    default: break
                    }
                case .start(let id):
                    #expect(running.insert(id).inserted && running.count <= limit)
                    #expect(latest[id] == "started")
                case .stop(let id):
                    #expect(running.contains(id) && stopped.insert(id).inserted)
                case .drop(let id):
                    #expect(!running.contains(id) && dropped.insert(id).inserted)
                }
            }
        }
    }

    @Test func theMachineKeepsItsPromises() {
        for seed in 0..<UInt64(8) {
            let random = SeededRandomness(seed: seed)
            let limit = Int(random.next() % 4) + 1
            var machine = DownloadList.StateMachine(maxConcurrent: limit)
            var observer = Observer(limit: limit)
            var all: [UUID] = []
            var isClosed = false
            for step in 0..<(Self.steps / 8) {
                let id = all.isEmpty ? UUID() : all[Int(random.next() % UInt64(all.count))]
                switch random.next() % 100 {
                case 0..<12:
                    let new = UUID()
                    all.append(new)
                    observer.latest[new] = "waiting"
                    observer.take(machine.add(new, random.next() % 8 == 0 ? .paused : .waiting))
                case 12..<30: observer.take(machine.pause(id))
                case 30..<50: observer.take(machine.resume(id))
                case 50..<56: observer.take(machine.change(id))
                case 56..<64: observer.take(machine.cancel(id))
                case 64..<70: observer.take(machine.unblock(id))
                case 70: observer.take(step % 3 == 0 ? machine.stopAll() : machine.resumeStopped())
                case 71 where step > Self.steps / 9:
                    isClosed = true
                    observer.take(machine.close())
                default:
                    guard let id = observer.running.randomElement(by: random) else { continue }
                    observer.running.remove(id)
                    let wasStopped = observer.stopped.remove(id) != nil
                    let outcome: DownloadList.StateMachine.Outcome =
                        switch random.next() % 5 {
                        case 0: .completed(URL(fileURLWithPath: "/file"))
                        case 1: .failed(.noConnection)
                        case 2: .blocked(.otherAccount)
                        case 3 where !wasStopped: .failed(.emptyBody)
                        default: .cancelled
                        }
                    observer.take(machine.ended(id, outcome))
                }
                #expect(machine.runningCount == observer.running.count)
                var waiting = 0
                for (id, phase) in machine.phases {
                    if case .running = phase { #expect(observer.running.contains(id)) }
                    if case .waiting = phase { waiting += 1 }
                    switch phase {
                    // Those that are added at rest are told nothing.
                    case .paused, .stopped: #expect(["waiting", "paused"].contains(observer.latest[id] ?? ""))
                    default: break
                    }
                }
                // No slot stays free while a download waits.
                #expect(isClosed || waiting == 0 || observer.running.count == limit, "step \(step) of seed \(seed)")
                // What has left the list has ended, and what has ended otherwise than by a file has left it.
                #expect(all.allSatisfy { machine.phases[$0] != nil || observer.ended.contains($0) })
                #expect(observer.dropped.allSatisfy { machine.phases[$0] == nil })
                if all.count > 40 {
                    for id in all where observer.ended.contains(id) { observer.take(machine.cancel(id)) }
                    all.removeAll { machine.phases[$0] == nil }
                }
            }
        }
    }

    /// How many transfers the server has seen at once.
    private struct Load {
        var now = 0
        var most = 0
    }

    private enum IsCounted: PluginContext.Key {
        typealias Value = Bool
    }

    private struct Counting: PulsePlugin {
        let identifier = "counting"
        let scope = PluginScope.call
        let load: Locked<Load>

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            // A download may send several requests.
            guard context.store[IsCounted.self] == nil else { return }
            context.store[IsCounted.self] = true
            load.withLock { $0 = Load(now: $0.now + 1, most: max($0.most, $0.now + 1)) }
        }

        func didComplete(_ context: PluginContext) async {
            if context.store[IsCounted.self] == true { load.withLock { $0.now -= 1 } }
        }
    }

    @Test func twoHundredDownloadsPausedResumedAndCancelled() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await MockServer.run { server in
            let data = Data((0..<120_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
            let file = MockServer.File(data, etag: "\"a\"")
            // Those that are caught here are in the middle of a body when they are stopped.
            let random = SeededRandomness(seed: 26)
            file.answering { request, right in
                random.next() % 4 == 0 && request.headers["Range"] == nil
                    ? right.fault(.stall, at: .body(70_000)) : right
            }
            server.serve(file, at: "/file")
            let load = Locked(Load())
            let client = ClientStage.client(
                of: server, plugins: [Counting(load: load)], retry: .default, clock: TestClock(),
                with: { $0.connectivity = ManualConnectivityMonitor(.satisfied) })
            var list: Downloads? = Downloads(directory: directory.appendingPathComponent("list"), client: client)
            weak let freed = list
            var ended: [UUID: Int] = [:]
            try await withThrowingTaskGroup(of: (UUID, Int).self) { group in
                guard let list else { return }
                var downloads: [Download] = []
                for number in 0..<200 {
                    let target = directory.appendingPathComponent("\(number)")
                    downloads.append(try await list.add(Request<EmptyResponse>(.get, "/file"), to: target))
                }
                // A plugin of the app also runs when a download is added.
                load.withLock { $0.most = $0.now }
                for download in downloads {
                    group.addTask {
                        var ends = 0
                        for await event in download.events {
                            switch event {
                            case .completed, .cancelled: ends += 1
                            case .failed(let error): Issue.record("\(error)")
                            default: break
                            }
                        }
                        return (download.id, ends)
                    }
                }
                try await withThrowingTaskGroup(of: Void.self) { users in
                    for user in 0..<UInt64(4) {
                        users.addTask { [downloads] in
                            let random = SeededRandomness(seed: user)
                            for _ in 0..<250 {
                                let download = downloads[Int(random.next() % 200)]
                                switch random.next() % 20 {
                                case 0: await download.cancel()
                                case 1..<11: await download.pause()
                                default: await download.resume()
                                }
                            }
                        }
                    }
                    try await users.waitForAll()
                }
                // Every turn ends: those that stall are moved on by hand.
                while downloads.contains(where: { !$0.latest.isEnd }) {
                    for download in downloads where !download.latest.isEnd {
                        await download.pause()
                        await download.resume()
                    }
                    await Task.yield()
                }
                for try await (id, ends) in group { ended[id] = ends }
                for (number, download) in downloads.enumerated() {
                    let target = directory.appendingPathComponent("\(number)")
                    guard case .completed = download.latest else {
                        #expect(!FileManager.default.fileExists(atPath: target.path))
                        continue
                    }
                    #expect(try Data(contentsOf: target) == data)
                }
            }
            #expect(ended.count == 200 && ended.values.allSatisfy { $0 == 1 })
            let (most, now) = load.withLock { ($0.most, $0.now) }
            #expect(most <= 3)
            #expect(now == 0)
            #expect(client.calls.count == 0)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names.allSatisfy { !$0.hasPrefix(".") }, "\(names.filter { $0.hasPrefix(".") })")
            await list?.shutdown()
            list = nil
            #expect(freed == nil)
            await client.shutdown()
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }
}

extension Download.Event {
    fileprivate var isEnd: Bool {
        switch self {
        case .completed, .cancelled: true
        default: false
        }
    }
}

extension Set<UUID> {
    fileprivate func randomElement(by random: SeededRandomness) -> UUID? {
        isEmpty ? nil : sorted { $0.uuidString < $1.uuidString }[Int(random.next() % UInt64(count))]
    }
}
