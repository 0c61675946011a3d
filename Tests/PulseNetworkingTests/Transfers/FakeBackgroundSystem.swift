// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulseTransfers
import PulseTransports

/// What the system does for background sessions, with a server that the test plays. It outlives the processes.
final class FakeBackgroundSystem: Sendable {
    struct Item: Sendable {
        let work: BackgroundWork
        var isResumed = false
        /// What the server gets.
        var request: URLRequest? {
            switch work.kind {
            case .download(let request), .upload(let request, _): request
            case .resumedDownload: nil
            }
        }
    }

    private struct Process: Sendable {
        let queue: DispatchQueue
        let handler: @Sendable (BackgroundEvent) -> Void
    }

    private struct State: Sendable {
        var tasks: [Int: Item] = [:]
        /// All tasks that were resumed, in order.
        var resumed: [Int] = []
        var stopped: [Int] = []
        var next = 1
        var generation = 0
        var process: Process?
        /// The events that no process has had.
        var waiting: [@Sendable (Process) -> Void] = []
        var resumeWaiters: [(count: Int, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())
    /// What a stopped download can be resumed with.
    let resumeData = Locked<Data?>(Data("resume".utf8))

    /// Makes the sessions of one process, which ends with the next one, or by ``kill()``.
    var sessionMaker: BackgroundSessionMaker {
        { [self] _, _, queue, handler in
            let (generation, waiting) = state.withLock { state in
                state.generation += 1
                state.process = Process(queue: queue, handler: handler)
                defer { state.waiting = [] }
                return (state.generation, state.waiting)
            }
            for event in waiting { event(Process(queue: queue, handler: handler)) }
            return FakeSession(system: self, queue: queue, generation: generation)
        }
    }

    /// The process ends: nothing that it does counts any more.
    func kill() {
        state.withLock { state in
            state.generation += 1
            state.process = nil
        }
    }

    var tasks: [Int: Item] { state.withLock { $0.tasks } }
    var resumed: [Int] { state.withLock { $0.resumed } }
    var stopped: [Int] { state.withLock { $0.stopped } }

    /// Waits until that many tasks were resumed in all.
    func resumed(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.resumed.count < count { state.resumeWaiters.append((count, continuation)) }
                return state.resumed.count >= count
            }
            if isDone { continuation.resume() }
        }
    }

    /// A task that an earlier version of the app has left.
    func addStray(named name: String?) -> Int {
        state.withLock { state in
            defer { state.next += 1 }
            state.tasks[state.next] = Item(
                work: BackgroundWork(.resumedDownload(Data()), name: name ?? ""), isResumed: true)
            return state.next
        }
    }

    // MARK: The server

    /// The server sends a response, of which the system tells the process that runs, or the next one.
    ///
    /// - Parameter url: of the response; by default that of the request.
    func respond(
        to number: Int, _ status: Int = 200, _ fields: [String: String] = [:], _ body: Data = Data(),
        from url: String? = nil
    ) {
        let url = url ?? tasks[number]?.request?.url?.absoluteString
        let isUpload = if case .upload = tasks[number]?.work.kind { true } else { false }
        let head = BackgroundHead(
            status: status, fields: fields.sorted { $0.key < $1.key }.map { [$0.key, $0.value] }, url: url)
        end(number) { task, handler in
            if isUpload {
                handler(.body(task, body))
            } else {
                let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
                try? body.write(to: file)
                handler(.file(task, file, head))
                try? FileManager.default.removeItem(at: file)
            }
            handler(.finished(task, head, nil))
        }
    }

    /// The system forgets a task without a word.
    func lose(_ number: Int) {
        state.withLock { $0.tasks[number] = nil }
    }

    func fail(_ number: Int, _ failure: BackgroundFailure) {
        end(number) { task, handler in handler(.finished(task, nil, failure)) }
    }

    func progress(of number: Int, _ completed: Int64, of total: Int64) {
        guard let item = tasks[number] else { return }
        let task = BackgroundTask(identifier: number, name: item.work.name)
        tell { $0(.progress(task, TransferProgress(completed: completed, total: total))) }
    }

    func deliverAll() {
        tell { $0(.allDelivered) }
    }

    private func end(
        _ number: Int, _ events: @escaping @Sendable (BackgroundTask, (BackgroundEvent) -> Void) -> Void
    ) {
        guard let item = state.withLock({ $0.tasks.removeValue(forKey: number) }) else { return }
        let task = BackgroundTask(identifier: number, name: item.work.name)
        tell { events(task, $0) }
    }

    private func tell(_ events: @escaping @Sendable ((BackgroundEvent) -> Void) -> Void) {
        let event: @Sendable (Process) -> Void = { process in
            process.queue.async { events(process.handler) }
        }
        let process = state.withLock { state in
            if state.process == nil { state.waiting.append(event) }
            return state.process
        }
        process.map(event)
    }

    // MARK: Sessions

    fileprivate func isCurrent(_ generation: Int) -> Bool { state.withLock { $0.generation == generation } }

    fileprivate func make(_ work: BackgroundWork) -> Int {
        state.withLock { state in
            defer { state.next += 1 }
            state.tasks[state.next] = Item(work: work)
            return state.next
        }
    }

    fileprivate func resume(_ number: Int) {
        let waiters = state.withLock { state in
            guard state.tasks[number]?.isResumed == false else { return [CheckedContinuation<Void, Never>]() }
            state.tasks[number]?.isResumed = true
            state.resumed.append(number)
            let count = state.resumed.count
            defer { state.resumeWaiters.removeAll { $0.count <= count } }
            return state.resumeWaiters.filter { $0.count <= count }.map(\.1)
        }
        waiters.forEach { $0.resume() }
    }

    fileprivate func cancel(_ number: Int) {
        fail(number, BackgroundFailure(code: .networkConnectionLost, phase: .maybeSent))
    }

    fileprivate func stop(_ number: Int) -> Data? {
        let isKnown = state.withLock { state in
            if state.tasks[number] != nil { state.stopped.append(number) }
            return state.tasks[number] != nil
        }
        guard isKnown else { return nil }
        cancel(number)
        return resumeData.withLock { $0 }
    }
}

private final class FakeSession: BackgroundSession {
    private let system: FakeBackgroundSystem
    private let queue: DispatchQueue
    private let generation: Int

    init(system: FakeBackgroundSystem, queue: DispatchQueue, generation: Int) {
        (self.system, self.queue, self.generation) = (system, queue, generation)
    }

    private var isAlive: Bool { system.isCurrent(generation) }

    func findTasks(_ found: @escaping @Sendable ([BackgroundTask]) -> Void) {
        let tasks = system.tasks.map { BackgroundTask(identifier: $0.key, name: $0.value.work.name) }
        queue.async { found(tasks) }
    }

    func makeTask(_ work: BackgroundWork) -> Int { isAlive ? system.make(work) : -1 }

    func resume(_ task: Int) {
        if isAlive { system.resume(task) }
    }

    func cancel(_ task: Int) {
        if isAlive { system.cancel(task) }
    }

    func stop(_ task: Int, _ stopped: @escaping @Sendable (Data?) -> Void) {
        let data = isAlive ? system.stop(task) : nil
        queue.async { stopped(data) }
    }
}
