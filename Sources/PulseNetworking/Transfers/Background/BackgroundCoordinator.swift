// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTransports

/// Performs the actions of the background transfers' state machine, on the queue of the session's events.
final class BackgroundCoordinator: @unchecked Sendable {
    // Unchecked: all but `init` runs on one queue.

    /// A request that a call hands over.
    struct HandOver: Sendable {
        let entry: BackgroundEntry
        let request: URLRequest
        /// The body of an upload.
        let upload: UploadedFile?
        let notBefore: Date?
        /// Whether an earlier hand-over of the same request may be taken over.
        let mayTakeOver: Bool
    }

    /// The outcome of a request.
    struct Delivery: Sendable {
        let entry: BackgroundEntry
        /// The file of a body that is not in the entry.
        let content: URL
    }

    private struct Waiter {
        let handOver: HandOver
        let progress: @Sendable (TransferProgress) -> Void
        let completion: @Sendable (Result<Delivery, any Error>) -> Void
    }

    /// Maximum size of the response body of an upload, in bytes.
    static let bodyLimit = 1 << 20

    private let storage: any BackgroundStorage
    /// Starts a wait, after which ``waitIsOver(_:)`` is called.
    private let wait: (BackgroundCoordinator, BackgroundTransfers.StateMachine.Wait) -> Void
    private let warn: (String) -> Void
    private var machine = BackgroundTransfers.StateMachine()
    private var session: (any BackgroundSession)?
    private var waiters: [String: Waiter] = [:]
    /// The bodies of responses to uploads received so far, up to the chunk that exceeds the limit.
    private var bodies: [Int: Data] = [:]
    private var launches: [BackgroundLaunch] = []

    init(
        _ storage: any BackgroundStorage,
        wait: @escaping (BackgroundCoordinator, BackgroundTransfers.StateMachine.Wait) -> Void,
        warn: @escaping (String) -> Void
    ) {
        (self.storage, self.wait, self.warn) = (storage, wait, warn)
    }

    // MARK: The launch

    /// Reads the stored entries. The session's events must not arrive before.
    func load() throws {
        machine.load(try storage.load())
    }

    func use(_ session: any BackgroundSession) {
        self.session = session
    }

    func list(_ tasks: [BackgroundTask]) {
        carryOut(machine.list(tasks))
    }

    func waitIsOver(_ wait: BackgroundTransfers.StateMachine.Wait) {
        switch wait {
        case .lateEvents: carryOut(machine.lateEventsAreOver())
        case .earlyEnd(let launch): carryOut(machine.earlyEndCounts(launch: launch))
        }
    }

    func handle(_ event: BackgroundRegistry.Event) {
        switch event {
        case .launched(let launch):
            launches.append(launch)
            carryOut(machine.launched())
        case .expired(let launch):
            guard let index = launches.firstIndex(where: { $0 === launch }) else { return }
            launches.remove(at: index)
            if launches.isEmpty { carryOut(machine.launchIsOver()) }
        }
    }

    // MARK: Calls

    /// - Returns: whether the transfer belongs to this call.
    @discardableResult
    func handOver(
        _ handOver: HandOver, progress: @escaping @Sendable (TransferProgress) -> Void,
        completion: @escaping @Sendable (Result<Delivery, any Error>) -> Void
    ) -> Bool {
        let id = handOver.entry.id
        guard let actions = machine.handOver(handOver.entry, mayTakeOver: handOver.mayTakeOver) else {
            completion(.failure(TransferFailure.busy.asPulseError))
            return false
        }
        waiters[id] = Waiter(handOver: handOver, progress: progress, completion: completion)
        do {
            try perform(actions)
        } catch {
            let waiter = waiters.removeValue(forKey: id)
            carryOut(machine.abandon(id))
            waiter?.completion(.failure((error as? JournalFailure)?.asPulseError ?? error))
        }
        return true
    }

    /// Handles the cancellation of the call that waits for the transfer.
    func stopWaiting(_ id: String) {
        carryOut(machine.stopWaiting(id))
    }

    func settle(_ id: String) {
        carryOut(machine.settle(id))
    }

    func leave(_ id: String) {
        carryOut(machine.leave(id))
    }

    func forget(_ id: String) {
        carryOut(machine.forget(id))
    }

    // MARK: Events

    func handle(_ event: BackgroundEvent) {
        switch event {
        case .progress(let task, let progress):
            if let entry = machine.transfer(of: task) { waiters[entry.id]?.progress(progress) }
        case .file(let task, let file, let head):
            take(file, head, of: task)
        case .body(let task, let data):
            guard machine.transfer(of: task) != nil else { return }
            if bodies[task.identifier, default: Data()].count <= Self.bodyLimit {
                bodies[task.identifier, default: Data()].append(data)
            }
        case .finished(let task, let head, let failure):
            let body = bodies.removeValue(forKey: task.identifier) ?? Data()
            carryOut(machine.ended(task, outcome(head, failure, body)))
        case .allDelivered:
            carryOut(machine.allDelivered())
        }
    }

    /// Stores the outcome and moves the file before the system removes it. The outcome counts only with its file.
    private func take(_ file: URL, _ head: BackgroundHead?, of task: BackgroundTask) {
        guard var entry = machine.transfer(of: task), let head else { return }
        entry.outcome = .response(head, body: nil)
        do {
            try storage.save(entry)
            try storage.takeContent(file, of: entry.id)
            carryOut(machine.ended(task, .response(head, body: nil)))
        } catch {
            warn("a background download could not be stored: \(error)")
            carryOut(
                machine.ended(task, .failure(BackgroundFailure(code: .cannotWriteToFile, phase: .responseStarted))))
        }
    }

    private func outcome(
        _ head: BackgroundHead?, _ failure: BackgroundFailure?, _ body: Data
    ) -> BackgroundEntry.Outcome {
        if let failure { return .failure(failure) }
        guard let head else { return .failure(BackgroundFailure(code: .badServerResponse, phase: .responseStarted)) }
        // A download without a file has no body.
        return body.count <= Self.bodyLimit ? .response(head, body: body) : .tooLarge(limit: Self.bodyLimit)
    }

    // MARK: Actions

    /// Performs actions that no call waits for. A change that cannot be stored counts until the process ends.
    private func carryOut(_ actions: [BackgroundTransfers.StateMachine.Action]) {
        for action in actions {
            do { try perform([action]) } catch { warn("a background transfer could not be stored: \(error)") }
        }
    }

    private func perform(_ actions: [BackgroundTransfers.StateMachine.Action]) throws {
        for action in actions {
            switch action {
            case .save(let entry): try storage.save(entry)
            case .remove(let id): storage.remove(id)
            case .make(let id): try make(id)
            case .resume(let task): session?.resume(task)
            case .cancel(let task): session?.cancel(task)
            case .stop(let task, let id): stop(task, id)
            case .deliver(let entry):
                let delivery = Delivery(entry: entry, content: storage.content(of: entry.id))
                waiters.removeValue(forKey: entry.id)?.completion(.success(delivery))
            case .release(let id): waiters.removeValue(forKey: id)?.completion(.failure(CancellationError()))
            case .wait(let wait): self.wait(self, wait)
            case .complete:
                let launches = launches
                self.launches = []
                launches.forEach { $0.complete() }
            }
        }
    }

    private func make(_ id: String) throws {
        guard let handOver = waiters[id]?.handOver, let session, let entry = machine.entries[id] else { return }
        let resumeData = entry.isResumed ? storage.resumeData(of: id) : nil
        let kind: BackgroundWork.Kind =
            if let upload = handOver.upload {
                .upload(handOver.request, file: upload.url)
            } else {
                resumeData.map { .resumedDownload($0) } ?? .download(handOver.request)
            }
        // The system raises an exception for a missing file.
        try handOver.upload?.check()
        let task = session.makeTask(BackgroundWork(kind, name: id, notBefore: handOver.notBefore))
        do {
            try perform(machine.made(id, task))
        } catch {
            session.cancel(task)
            throw error
        }
    }

    private func stop(_ task: Int, _ id: String) {
        session?.stop(task) { [self] data in stopped(task, id, data) }
    }

    private func stopped(_ task: Int, _ id: String, _ data: Data?) {
        // The transfer may be forgotten by now.
        guard machine.isStopping(task, id) else { return }
        var hasResumeData = false
        if let data {
            hasResumeData = (try? storage.saveResumeData(data, of: id)) != nil
        }
        carryOut(machine.stopped(id, hasResumeData: hasResumeData))
    }
}
