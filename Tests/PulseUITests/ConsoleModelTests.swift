// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulseUI

/// A recorder on a bus, a console that follows it, and calls made by their events.
@MainActor
struct ConsoleStage {
    let clock = TestClock()
    let bus = PulseEventBus()
    let recorder: PulseRecorder
    let model: ConsoleModel

    init() {
        recorder = PulseRecorder(clock: clock)
        recorder.attach(to: bus)
        model = ConsoleModel(recorder: recorder, clock: clock)
    }

    var paths: [String] { model.content.rows.map(\.path) }

    @discardableResult
    func call(_ path: String, ends: Bool = true) -> NetworkEvent.CallSummary {
        let call = NetworkEvent.CallSummary.sample(path)
        bus.emit(.requestStarted(call))
        if ends { end(call) }
        return call
    }

    func end(_ call: NetworkEvent.CallSummary) {
        bus.emit(
            .requestCompleted(
                .success(NetworkEvent.ResponseSummary(statusCode: 200, byteCount: 1, origin: .network)), call,
                latency: 1))
    }
}

@Suite(.tags(.threads), .throttled)
@MainActor
struct ConsoleModelTests {
    @Test func aConsoleStartsWithTheRecordedCalls() {
        let recorder = PulseRecorder(clock: TestClock())
        let bus = PulseEventBus()
        recorder.attach(to: bus)
        bus.emit(.requestStarted(.sample("/early")))
        let model = ConsoleModel(recorder: recorder, clock: TestClock())
        #expect(model.content.rows.map(\.path) == ["/early"])
    }

    @Test func changesAppearAtOnceButAtMostFourTimesASecond() async {
        let stage = ConsoleStage()
        let following = Task { await stage.model.run() }
        await stage.clock.advance(by: 0)
        #expect(stage.paths == [])
        var seen: [[String]] = []
        for number in 1...8 {
            stage.call("/\(number)")
            await stage.clock.advance(by: 0.1)
            seen.append(stage.paths)
        }
        let counts = seen.map(\.count)
        // Updates at 0, 0.25, 0.5 and 0.75 s.
        #expect(counts == [0, 0, 3, 3, 5, 5, 5, 8])
        #expect(seen.last == ["/8", "/7", "/6", "/5", "/4", "/3", "/2", "/1"])
        // A change after a pause appears at once.
        await stage.clock.advance(by: 5)
        stage.call("/late")
        await stage.clock.advance(by: 0)
        #expect(stage.paths.first == "/late")
        following.cancel()
        await following.value
        #expect(stage.clock.sleeperCount == 0)
    }

    @Test func severalTasksThatFollowUpdateNoMoreOften() async {
        let stage = ConsoleStage()
        let following = (0..<3).map { _ in Task { await stage.model.run() } }
        await stage.clock.advance(by: 1)
        var updates = 0
        var last = stage.paths.count
        for number in 1...40 {
            stage.call("/\(number)")
            await stage.clock.advance(by: 0.05)
            if stage.paths.count != last { updates += 1 }
            last = stage.paths.count
        }
        #expect(updates <= 9)
        for task in following {
            task.cancel()
            await task.value
        }
    }

    @Test func aConsoleThatDoesNotRunStandsStill() async {
        let stage = ConsoleStage()
        stage.call("/a")
        await stage.clock.advance(by: 1)
        #expect(stage.paths == [])
        let following = Task { await stage.model.run() }
        await stage.clock.advance(by: 0)
        #expect(stage.paths == ["/a"])
        following.cancel()
        await following.value
        stage.call("/b")
        await stage.clock.advance(by: 1)
        #expect(stage.paths == ["/a"])
    }

    @Test func aPausedConsoleStandsStillAndCatchesUp() async {
        let stage = ConsoleStage()
        let following = Task { await stage.model.run() }
        stage.call("/a")
        await stage.clock.advance(by: 1)
        stage.model.isPaused = true
        await stage.model.lastUpdate?.value
        let call = stage.call("/b")
        await stage.clock.advance(by: 1)
        #expect(stage.paths == ["/a"])
        #expect(stage.model.details(of: call.id) == nil)
        // The filter works on what is shown.
        stage.model.filter.text = "b"
        await stage.model.lastUpdate?.value
        #expect(stage.paths == [])
        stage.model.filter.text = ""
        await stage.model.lastUpdate?.value
        #expect(stage.paths == ["/a"])
        stage.model.isPaused = false
        await stage.model.lastUpdate?.value
        #expect(stage.paths == ["/b", "/a"])
        following.cancel()
        await following.value
    }

    @Test func anUpdateThatIsComputedDuringAClearIsNotShown() async {
        let stage = ConsoleStage()
        // Often, since other tests on the main actor may delay a clear until after its update.
        for round in 0..<50 {
            for number in 0..<100 { stage.call("/\(number)") }
            stage.model.filter.text = round % 2 == 0 ? "/" : "1"
            let planned = stage.model.order.started
            // The update starts, and leaves the main actor to compute.
            while stage.model.order.started == planned { await Task.yield() }
            stage.model.clear()
            #expect(stage.paths == [])
            await stage.model.lastUpdate?.value
            #expect(stage.paths == [])
        }
    }

    @Test func anUpdateThatIsComputedDuringAPauseIsNotShown() async {
        let stage = ConsoleStage()
        for round in 0..<50 {
            for number in 0..<100 { stage.call("/\(number)") }
            stage.model.filter.text = round % 2 == 0 ? "/" : "1"
            let update = stage.model.lastUpdate
            let planned = stage.model.order.started
            while stage.model.order.started == planned { await Task.yield() }
            // Empty, unless other tests on the main actor delay the pause until after the update.
            let shown = stage.paths
            stage.model.isPaused = true
            await update?.value
            await stage.model.lastUpdate?.value
            #expect(stage.paths == shown)
            stage.model.isPaused = false
            await stage.model.lastUpdate?.value
            stage.model.clear()
        }
    }

    @Test func noLaterUpdateUndoesAClear() async {
        let stage = ConsoleStage()
        let following = Task { await stage.model.run() }
        await stage.clock.advance(by: 1)
        let running = stage.call("/running", ends: false)
        stage.call("/a")
        stage.model.clear()
        #expect(stage.paths == [])
        await stage.clock.advance(by: 1)
        #expect(stage.paths == [])
        // Calls in progress stay removed, later ones appear.
        stage.end(running)
        stage.bus.emit(.requestStarted(running))
        stage.call("/b")
        await stage.clock.advance(by: 1)
        #expect(stage.paths == ["/b"])
        #expect(stage.recorder.recording().calls.map(\.endpointPath) == ["/b"])
        following.cancel()
        await following.value
    }

    @Test func aClearWhilePausedLeavesNothing() async {
        let stage = ConsoleStage()
        stage.call("/a")
        stage.model.isPaused = true
        stage.model.clear()
        await stage.model.lastUpdate?.value
        #expect(stage.paths == [] && stage.model.isPaused)
        #expect(stage.recorder.recording().calls.isEmpty)
    }

    @Test func aClearMovesTheTimeFromWhichCallsAreRecorded() async {
        let stage = ConsoleStage()
        let start = stage.clock.now
        #expect(stage.model.content.notices == [.earlierCalls(before: start)])
        await stage.clock.advance(by: 60)
        stage.model.clear()
        #expect(stage.model.content.notices == [.earlierCalls(before: start.addingTimeInterval(60))])
    }

    @Test func theNewestFilterCounts() async {
        let stage = ConsoleStage()
        stage.call("/a")
        stage.call("/b")
        for text in ["a", "b", "x", "b"] { stage.model.filter.text = text }
        await stage.model.lastUpdate?.value
        #expect(stage.paths == ["/b"])
        #expect(stage.model.content.totals.summary.hasPrefix("1 of 2 calls"))
    }

    @Test func contentsAreTheNewestAndEndWithTheModel() async {
        let bus = PulseEventBus()
        let recorder = PulseRecorder(clock: TestClock())
        recorder.attach(to: bus)
        var model: ConsoleModel? = ConsoleModel(recorder: recorder, clock: TestClock())
        var reader = model?.contents.makeAsyncIterator()
        #expect(await reader?.next()?.rows.count == 0)
        bus.emit(.requestStarted(.sample("/a")))
        model?.filter.text = "a"
        await model?.lastUpdate?.value
        #expect(await reader?.next()?.rows.map(\.path) == ["/a"])
        model?.clear()
        model?.clear()
        #expect(await reader?.next()?.rows.count == 0)
        model = nil
        #expect(await reader?.next() == nil)
    }

    @Test func aDroppedConsoleLeavesNothingBehind() async {
        let recorder = PulseRecorder(clock: TestClock())
        weak var last: ConsoleModel?
        for _ in 0..<20 {
            let clock = TestClock()
            let model = ConsoleModel(recorder: recorder, clock: clock)
            let following = Task { await model.run() }
            await clock.advance(by: 0)
            model.filter.text = "a"
            following.cancel()
            await following.value
            await model.lastUpdate?.value
            last = model
        }
        await Task.yield()
        #expect(last == nil)
    }

    @Test func exportsHaveAllCallsOrThoseShown() async throws {
        let stage = ConsoleStage()
        stage.call("/users")
        stage.call("/orders")
        stage.model.filter.text = "orders"
        for format in ConsoleExport.Format.allCases where format != .har {
            let all = await stage.model.export(format)
            let text = String(decoding: all.data, as: UTF8.self)
            #expect(text.contains("/users") && text.contains("/orders"), "\(format)")
            let shown = String(decoding: await stage.model.export(format, shownOnly: true).data, as: UTF8.self)
            #expect(!shown.contains("/users") && shown.contains("/orders"), "\(format)")
        }
        #expect(await stage.model.export(.har).fileName == "pulse-20260101-000000.har")
        #expect(await stage.model.export(.html).fileName == "pulse-20260101-000000.html")
        let export = await stage.model.export(.curl)
        #expect(export.fileName == "pulse-20260101-000000.sh")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        await #expect(throws: PulseError.self) { try await stage.model.exportFile(.curl, to: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try await stage.model.exportFile(.curl, to: folder)
        #expect(file.lastPathComponent == export.fileName)
        #expect(try Data(contentsOf: file) == export.data)
    }

    @Test func anExportIsReadableByItsUserAloneInAFolderOfItsOwn() async throws {
        let stage = ConsoleStage()
        stage.call("/users")
        let file = try await stage.model.exportFile(.curl)
        let folder = file.deletingLastPathComponent()
        defer { try? FileManager.default.removeItem(at: folder) }
        let manager = FileManager.default
        #expect(try manager.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
        #expect(try manager.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int == 0o700)
        #expect(try manager.contentsOfDirectory(atPath: folder.path) == [file.lastPathComponent])
    }
}

extension NetworkEvent.CallSummary {
    fileprivate static func sample(_ path: String) -> NetworkEvent.CallSummary {
        NetworkEvent.CallSummary(id: UUID(), endpointPath: path, route: "Route", method: .get, host: "api.example.com")
    }
}
